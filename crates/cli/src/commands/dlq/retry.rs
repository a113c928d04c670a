//! `sprag dlq retry`.

use serde_json::{Map, Value, json};
use sprag_wire::CaseFile;

use crate::client::{Client, Once, Remote, Why};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The action: its id, or MACHINE/KEY/ACTION
    #[arg(add = Names::DeadLetters.completer())]
    id: String,
    /// New configuration: a JSON object or a file.{n}The retry then has a new idempotency key
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// Use the definition of this machine version
    #[arg(long)]
    version: Option<u32>,
    /// JSON Patch of timeout, retryPolicy and config:{n}a JSON list or a file
    #[arg(long, value_name = "JSON|FILE", conflicts_with = "apply_fix")]
    patch: Option<String>,
    /// Apply the suggested fix
    #[arg(long)]
    apply_fix: bool,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Tries the dead letter again.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        id,
        config,
        version,
        patch,
        apply_fix,
        once,
        why,
        remote,
    } = arguments;
    let client = remote.client()?;
    let id = &client.action_id(id).await?;
    let mut body = Map::new();
    if let Some(config) = config {
        body.insert("config".to_owned(), Value::Object(input::object(config)?));
    }
    if let Some(version) = version {
        body.insert("version".to_owned(), json!(version));
    }
    if let Some(patch) = patch {
        body.insert("patch".to_owned(), input::list(patch)?);
    }
    if *apply_fix {
        body.insert("patch".to_owned(), fix(&client, id).await?);
    }
    let action = client
        .post(&["dead-letters", id, "retry"])
        .json(&Value::Object(body))
        .once(once)
        .why(why)
        .send()
        .await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}

/// The patch that the case file suggests.
async fn fix(client: &Client, id: &str) -> anyhow::Result<Value> {
    let file: CaseFile = output::read(client.get(&["dead-letters", id]).send().await?)?;
    if !file.fix_patch.is_empty() {
        let patch = json!(file.fix_patch);
        output::note(&format!("applying: {patch}"));
        return Ok(patch);
    }
    let failure = Failure::invalid(format!(
        "a change of `{id}` alone cannot fix it, so nothing was retried"
    ));
    Err(match file.suggested_fix {
        Some(text) => failure.note(text).into(),
        None => failure.into(),
    })
}
