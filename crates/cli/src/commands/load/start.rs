//! `sprag load start`.

use std::path::PathBuf;

use serde_json::json;

use super::{LOADS, plan, show};
use crate::client::{Once, Remote, Why};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The load plan, YAML or JSON
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    #[arg(
        long,
        value_name = "AGENT",
        value_delimiter = ',',
        help = "Addresses or names of registered agents\n[default: all registered agents]"
    )]
    agents: Vec<String>,
    /// Tag for filters
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Starts it, and shows its id.
pub(super) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        plan,
        agents,
        tags,
        why,
        once,
        remote,
    } = arguments;
    let (_, document) = plan::read(plan, None)?;
    let mut body = json!({ "plan": document });
    if !agents.is_empty() {
        body["agents"] = json!(agents);
    }
    if !tags.is_empty() {
        body["tags"] = json!(tags);
    }
    let client = remote.client()?;
    let request = client.post(&[LOADS]).json(&body).once(once).why(why);
    output.show(&request.send().await?, show::load)?;
    Ok(Exit::Done)
}
