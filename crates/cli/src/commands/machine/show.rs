//! `sprag machine show`.

use crate::client::Remote;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine's name
    #[arg(add = Names::Machines.completer())]
    id: String,
    /// The version [default: the newest]
    #[arg(long)]
    version: Option<u32>,
    #[command(flatten)]
    remote: Remote,
}

/// Shows the machine with its definition.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, version, remote } = arguments;
    let client = remote.client()?;
    let request = match version {
        Some(version) => client.get(&["machines", id, "versions", &version.to_string()]),
        None => client.get(&["machines", id]),
    };
    let machine = request.send().await?;
    output.show(&machine, output::machine)?;
    Ok(Exit::Done)
}
