//! `sprag job list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::words;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only in this status: running, paused, completed,{n}cancelled
    #[arg(long, add = words(&["running", "paused", "completed", "cancelled"]))]
    status: Option<String>,
    /// Only jobs that match this filter
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists jobs.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        status,
        filter,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let conditions = [("status", status), ("filter", filter)];
    let document = page.fetch(&client, &["jobs"], &conditions).await?;
    list::show(output, &document, output::jobs)?;
    Ok(Exit::Done)
}
