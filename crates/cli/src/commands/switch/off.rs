//! `sprag switch off`.

use serde_json::json;

use crate::client::{Once, Remote, Why};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the switch
    #[arg(add = Names::Switches.completer())]
    id: String,
    /// Release only at this revision
    #[arg(long)]
    revision: Option<u64>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Releases the switch.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let switch = client
        .post(&["kill-switches", &arguments.id, "release"])
        .matching(arguments.revision)
        .json(&json!({}))
        .once(&arguments.once)
        .why(&arguments.why)
        .send()
        .await?;
    output.show(&switch, super::text)?;
    Ok(Exit::Done)
}
