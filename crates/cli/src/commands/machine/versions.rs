//! `sprag machine versions`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine's name
    #[arg(add = Names::Machines.completer())]
    id: String,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists the versions of a machine.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, page, remote } = arguments;
    let client = remote.client()?;
    let document = page.fetch(&client, &["machines", id, "versions"], &[]).await?;
    list::show(output, &document, output::machines)?;
    Ok(Exit::Done)
}
