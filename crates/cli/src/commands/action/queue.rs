//! `sprag action queue`.

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Shows the lines of the dispatcher.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = client.get(&["actions", "queue"]).send().await?;
    list::show(output, &document, output::lines)?;
    Ok(Exit::Done)
}
