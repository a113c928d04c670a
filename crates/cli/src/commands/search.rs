//! `sprag search`: find a record by its id, key, name or path.

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An id, key, name or path, or how it begins
    text: String,
    #[command(flatten)]
    remote: Remote,
}

/// Lists what the text may mean.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { text, remote } = arguments;
    let client = remote.client()?;
    let document = client.get(&["search"]).query("q", Some(text)).send().await?;
    list::show(output, &document, output::hits)?;
    Ok(Exit::Done)
}
