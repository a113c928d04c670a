//! `sprag service reload`.

use std::fmt::Write as _;

use serde_json::Value;

use super::Supervisor;
use super::list::field;
use crate::failure::Exit;
use crate::output::{Output, plain};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Has the file read again. A file that is not valid changes nothing.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.post(&["workers", "reload"]).send().await?;
    output.show(&document, text)?;
    Ok(Exit::Done)
}

fn text(reloaded: &Value) -> String {
    let mut text = String::new();
    for word in ["added", "changed", "removed"] {
        for path in reloaded[word].as_array().into_iter().flatten() {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{word} {}", path.as_str().unwrap_or_default());
        }
    }
    for service in reloaded["notStartable"].as_array().into_iter().flatten() {
        let (path, reason) = (field(service, "path"), plain(&field(service, "reason")));
        let _ = writeln!(
            text,
            "not startable: {path}: {reason}; what runs of it goes on as configured before"
        );
    }
    let _ = writeln!(text, "unchanged: {}", reloaded["unchanged"]);
    if reloaded["rules"].as_u64().is_some_and(|rules| rules > 0) {
        let _ = writeln!(text, "rules new, changed or gone: {}", reloaded["rules"]);
    }
    text
}
