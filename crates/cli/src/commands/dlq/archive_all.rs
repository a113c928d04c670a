//! `sprag dlq archive-all`.

use serde_json::json;
use sprag_wire::ArchiveAllRequest;

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which ones, such as 'errorType = "timeout"'
    #[arg(long)]
    filter: String,
    /// Why, for later readers
    #[arg(long)]
    reason: String,
    /// Archive at most this many per second
    #[arg(long, value_name = "COUNT")]
    rate: Option<u32>,
    /// Archive this many, then pause the job
    #[arg(long, value_name = "COUNT")]
    canary: Option<u32>,
    /// Count them and show ten; change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Starts the job, or shows what it would do.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        filter,
        reason,
        rate,
        canary,
        dry_run,
        once,
        remote,
    } = arguments;
    let body = ArchiveAllRequest {
        filter: filter.clone(),
        reason: reason.clone(),
        rate: *rate,
        canary: *canary,
        dry_run: dry_run.then_some(true),
    };
    let client = remote.client()?;
    let request = client.post(&["dead-letters", "archive"]).json(&json!(body));
    let answer = request.once(once).send().await?;
    if *dry_run {
        output.show(&answer, output::archive_dry_run)?;
    } else {
        output.show(&answer, output::job)?;
    }
    Ok(Exit::Done)
}
