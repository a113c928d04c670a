//! `sprag op list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::words;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// operation, subject or builtin [default: operation]
    #[arg(long, add = words(&["operation", "subject", "builtin"]))]
    kind: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists the catalog by name.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { kind, page, remote } = arguments;
    let client = remote.client()?;
    let document = page.fetch(&client, &["operations"], &[("kind", kind)]).await?;
    list::show(output, &document, output::operations)?;
    Ok(Exit::Done)
}
