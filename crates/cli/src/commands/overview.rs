//! `sprag overview`: what is wrong, and how much is open.

use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Shows what is wrong, worst first.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = client.get(&["overview"]).send().await?;
    output.show(&document, output::overview)?;
    Ok(Exit::Done)
}
