//! `sprag machine list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists machines by name.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { page, remote } = arguments;
    let client = remote.client()?;
    let document = page.fetch(&client, &["machines"], &[]).await?;
    list::show(output, &document, output::machines)?;
    Ok(Exit::Done)
}
