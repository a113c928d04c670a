//! What a supervisor shows while it runs: a live table on a terminal, a line for each change elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;
use sprag_supervisor::process::counted_down;
use sprag_supervisor::{Handle, Status};
use tokio::time::sleep;

use crate::output::{self, Output, Table, plain};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Where commands look by themselves.
const DEFAULT: &str = "http://127.0.0.1:7401";
/// Back to the top left, and nothing below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// Says where the API is.
pub(super) fn banner(address: SocketAddr, state: &Path, output: Output) -> anyhow::Result<()> {
    let url = format!("http://{address}");
    if output == Output::Json {
        output::data(&json!({"address": url, "state": state}).to_string())?;
        // Whoever reads JSON is not disturbed by sentences.
        return Ok(());
    }
    let server = if url == DEFAULT {
        String::new()
    } else {
        format!(" --server {url}")
    };
    output::note(&format!(
        "sprag supervises, listening on {url}, remembering in {}; see `sprag service list{server}`",
        state.display()
    ));
    Ok(())
}

/// Shows what changes, for as long as it is polled.
pub(super) async fn follow(handle: Handle, clock: Arc<dyn Clock>, output: Output) {
    let is_live = output == Output::Text && io::stdout().is_terminal();
    let mut shown = BTreeMap::new();
    loop {
        let Ok(list) = handle.list().await else { return };
        let written = if is_live {
            table(&list)
        } else {
            changes(&list, &mut shown, (clock.now(), output))
        };
        if written.is_err() {
            // Nobody reads any more; the services go on.
            return;
        }
        sleep(EVERY).await;
    }
}

fn table(list: &[Status]) -> io::Result<()> {
    let mut table = Table::new(&["SERVICE", "STATE", "PID", "CIRCUIT", "REASON"]);
    for status in list {
        let pid = pid(status).map(|pid| pid.to_string()).unwrap_or_default();
        table.row([
            status.path.to_string(),
            status.state.to_owned(),
            pid,
            status.circuit.to_owned(),
            why(status),
        ]);
    }
    let mut stdout = io::stdout().lock();
    write!(stdout, "{CLEAR}{}", table.text())?;
    stdout.flush()
}

/// The state that was shown of each worker, since when it was in it, and the circuit. One that went on and came back between two
/// looks is in the same state since another time.
type Shown = BTreeMap<String, (&'static str, Timestamp, &'static str)>;

/// A line for each worker that is not as it was: when its state changed, or else the present.
fn changes(list: &[Status], shown: &mut Shown, (now, output): (Timestamp, Output)) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for status in list {
        let stands = (status.state, status.since, status.circuit);
        let before = shown.insert(status.path.to_string(), stands);
        if before == Some(stands) {
            continue;
        }
        let is_same_state = before.is_some_and(|(state, since, _)| (state, since) == (status.state, status.since));
        let at = if is_same_state { now } else { status.since };
        match output {
            Output::Json => {
                let line = json!({"path": status.path, "state": status.state, "reason": why(status),
                    "pid": pid(status), "circuit": status.circuit, "since": status.since});
                writeln!(stdout, "{line}")?;
            }
            Output::Text => {
                let circuit = match status.circuit {
                    "closed" => String::new(),
                    other => format!(" (circuit {other})"),
                };
                let (path, state) = (&status.path, status.state);
                writeln!(stdout, "{at} {path} {state}{circuit}: {}", plain(&why(status)))?;
            }
        }
    }
    stdout.flush()
}

/// What it waits for says more than why it is where it is.
fn why(status: &Status) -> String {
    match (&status.waiting, &status.observed) {
        (Some(waiting), _) if !status.phase.is_operational() => format!("waits for {waiting}"),
        (_, Some(observed)) => counted_down(&status.reason, &observed.read(), output::now()),
        (_, None) => status.reason.clone(),
    }
}

fn pid(status: &Status) -> Option<i64> {
    status.observed.as_ref()?.read()["service"]["process"]["pid"].as_i64()
}
