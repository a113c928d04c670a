//! What a supervisor shows while it runs: a live table on a terminal, a line for each change elsewhere.

use std::collections::BTreeMap;
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

use crate::output::{self, Output, Reader, Table};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Where commands look by themselves.
const DEFAULT: &str = "http://127.0.0.1:7401";

/// Says where the API is.
pub(super) fn banner(address: SocketAddr, state: &Path, output: Output) -> anyhow::Result<()> {
    let url = format!("http://{address}");
    if output == Output::Json {
        output::data(&json!({"address": url, "state": state}).to_string())?;
        // Readers of JSON get no sentences.
        return Ok(());
    }
    let server = if url == DEFAULT {
        String::new()
    } else {
        format!(" --server {url}")
    };
    output::note(&format!(
        "sprag supervises, listening on {url}, with its state in {}; see `sprag service list{server}`",
        state.display()
    ));
    Ok(())
}

/// Shows what changes, for as long as it is polled.
pub(super) async fn follow(handle: Handle, clock: Arc<dyn Clock>, output: Output) {
    let is_live = output == Output::Text && output::is_terminal();
    let mut shown = BTreeMap::new();
    loop {
        let Ok(list) = handle.list().await else { return };
        let written = if is_live {
            table(&list)
        } else {
            changes(&list, &mut shown, (clock.now(), output))
        };
        if !matches!(written, Ok(Reader::There)) {
            // The reader is gone; the services continue.
            return;
        }
        sleep(EVERY).await;
    }
}

fn table(list: &[Status]) -> anyhow::Result<Reader> {
    let mut table = Table::new(&["SERVICE", "STATE", "PID", "CIRCUIT", "REASON"]).optional(&["CIRCUIT", "PID"]);
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
    output::redraw(&table.text())
}

/// The state that was shown of each worker, since when it was in it, and the circuit. One that continued and came back between two
/// looks is in the same state since another time.
type Shown = BTreeMap<String, (&'static str, Timestamp, &'static str)>;

/// A line for each worker that is not as it was: when its state changed, or else the present.
fn changes(list: &[Status], shown: &mut Shown, (now, output): (Timestamp, Output)) -> anyhow::Result<Reader> {
    for status in list {
        let stands = (status.state, status.since, status.circuit);
        let before = shown.insert(status.path.to_string(), stands);
        if before == Some(stands) {
            continue;
        }
        let is_same_state = before.is_some_and(|(state, since, _)| (state, since) == (status.state, status.since));
        let at = if is_same_state { now } else { status.since };
        let line = match output {
            Output::Json => {
                let line = json!({"path": status.path, "state": status.state, "reason": why(status),
                    "pid": pid(status), "circuit": status.circuit, "since": status.since});
                line.to_string()
            }
            Output::Text => {
                let circuit = match status.circuit {
                    "closed" => String::new(),
                    other => format!(" (circuit {other})"),
                };
                let (path, state) = (&status.path, status.state);
                format!("{at} {path} {state}{circuit}: {}", why(status))
            }
        };
        if output::line(&line)? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::There)
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
