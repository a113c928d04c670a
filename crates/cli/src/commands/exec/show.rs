//! `sprag exec show`.

use std::time::Duration;

use sprag_core::time::duration::Millis;

use crate::client::Remote;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The execution: its id, or MACHINE/KEY
    #[arg(add = Names::Executions.completer())]
    id: String,
    /// Wait this long for the end, up to 60s
    #[arg(long, value_name = "DURATION", value_parser = Millis::parse)]
    wait: Option<Millis>,
    #[command(flatten)]
    remote: Remote,
}

/// Shows the execution.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, wait, remote } = arguments;
    let client = remote.client()?;
    let id = client.execution_id(id).await?;
    let request = client
        .get(&["executions", &id])
        .query("wait", wait.map(|wait| format!("{}ms", wait.get())));
    let execution = request
        .waiting(Duration::from_millis(wait.map_or(0, Millis::get)))
        .send()
        .await?;
    output.show(&execution, output::execution)?;
    Ok(Exit::Done)
}
