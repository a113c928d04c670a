//! `sprag dlq retry-all`.

use serde_json::{Value, json};
use sprag_wire::Job;

use crate::client::{Once, Remote};
use crate::commands::job::follow::{ended, follow};
use crate::failure::Exit;
use crate::input;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Retry the dead letters that match this filter
    #[arg(long)]
    filter: String,
    /// New configuration: a JSON object or a file.{n}The retries then have new idempotency keys
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// Use the definition of this machine version
    #[arg(long)]
    version: Option<u32>,
    /// JSON Patch of timeout, retryPolicy and config:{n}a JSON list or a file
    #[arg(long, value_name = "JSON|FILE")]
    patch: Option<String>,
    /// Note the reason in the job
    #[arg(long)]
    reason: Option<String>,
    /// Count the matches and show ten; change nothing
    #[arg(long, conflicts_with_all = ["wait", "rate", "canary"])]
    dry_run: bool,
    /// Retry at most this many per second
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<u32>,
    /// Retry this many first; pause if one dies again
    #[arg(long, value_name = "COUNT")]
    canary: Option<u32>,
    /// Show the progress until the job ends or pauses
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Makes a job that tries the dead letters again.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        dry_run,
        wait,
        once,
        remote,
        ..
    } = arguments;
    let client = remote.client()?;
    let body = body(arguments)?;
    let request = client.post(&["dead-letters", "retry"]).json(&body);
    let mut job = request.once(once).send().await?;
    if *dry_run {
        output.show(&job, output::dry_run)?;
        return Ok(Exit::Done);
    }
    if *wait {
        let Job { id, .. } = output::read(job)?;
        job = follow(&client, &id.to_string()).await?;
    }
    output.show(&job, output::job)?;
    Ok(if *wait { ended(job)? } else { Exit::Done })
}

/// What is asked: only what was given.
fn body(arguments: &Arguments) -> anyhow::Result<Value> {
    let Arguments {
        filter,
        config,
        version,
        patch,
        reason,
        dry_run,
        rate,
        canary,
        wait: _,
        once: _,
        remote: _,
    } = arguments;
    let config = config.as_deref().map(input::object).transpose()?;
    let patch = patch.as_deref().map(input::list).transpose()?;
    let given = [
        ("filter", Some(json!(filter))),
        ("config", config.map(Value::Object)),
        ("version", version.map(Value::from)),
        ("patch", patch),
        ("reason", reason.as_ref().map(|reason| json!(reason))),
        ("rate", rate.map(Value::from)),
        ("canary", canary.map(Value::from)),
        ("dryRun", dry_run.then_some(Value::Bool(true))),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Ok(Value::Object(given.collect()))
}
