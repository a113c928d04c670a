//! `sprag job show`.

use super::follow::{ended, follow};
use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the job
    #[arg(add = Names::Jobs.completer())]
    id: String,
    /// List the items with their results
    #[arg(long)]
    items: bool,
    /// Show the progress until the job ends or pauses
    #[arg(long, conflicts_with = "items")]
    wait: bool,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Shows the job, or its items. A wait for a job that is not done whole fails.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        id,
        items,
        wait,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    if *items {
        let document = page.fetch(&client, &["jobs", id, "items"], &[]).await?;
        list::show(output, &document, output::job_items)?;
        return Ok(Exit::Done);
    }
    let job = if *wait {
        follow(&client, id).await?
    } else {
        client.get(&["jobs", id]).send().await?
    };
    output.show(&job, output::job)?;
    Ok(if *wait { ended(job)? } else { Exit::Done })
}
