//! `sprag service start`, `stop` and `restart`.

use serde_json::Value;

use super::Supervisor;
use super::list::{field, why};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, or `parent/child`
    path: String,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Has it done. What becomes of it shows in the list.
pub(crate) async fn run(arguments: &Arguments, verb: &str, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.post(&["workers", &arguments.path, verb]).send().await?;
    output.show(&document, text)?;
    Ok(Exit::Done)
}

fn text(worker: &Value) -> String {
    format!(
        "{}: {} ({})\n",
        field(worker, "path"),
        field(worker, "state"),
        why(worker)
    )
}
