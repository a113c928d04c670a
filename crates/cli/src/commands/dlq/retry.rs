//! `sprag dlq retry`.

use serde_json::{Map, Value, json};

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::input;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The action's id
    id: String,
    /// Another configuration: a JSON object, or a YAML or JSON file; gives it a new idempotency key
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// Take the action's definition of this version of the machine
    #[arg(long)]
    version: Option<u32>,
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
        once,
        remote,
    } = arguments;
    let client = remote.client()?;
    let mut body = Map::new();
    if let Some(config) = config {
        body.insert("config".to_owned(), Value::Object(input::object(config)?));
    }
    if let Some(version) = version {
        body.insert("version".to_owned(), json!(version));
    }
    let action = client
        .post(&["dead-letters", id, "retry"])
        .json(&Value::Object(body))
        .once(once)
        .send()
        .await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}
