//! `sprag dlq retry-all`.

use serde_json::{Map, Value, json};

use crate::client::{Once, Remote};
use crate::commands::job::follow::{ended, follow};
use crate::failure::Exit;
use crate::input;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which, as in 'machine = "order" AND errorType = "timeout"'
    #[arg(long)]
    filter: String,
    /// Another configuration for each: a JSON object, or a YAML or JSON file; gives them new idempotency keys
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// Take the definition of this version of the machine
    #[arg(long)]
    version: Option<u32>,
    /// Why, for those who look later
    #[arg(long)]
    reason: Option<String>,
    /// Wait until the job is over, and show how far it is
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
        filter,
        config,
        version,
        reason,
        wait,
        once,
        remote,
    } = arguments;
    let client = remote.client()?;
    let mut body = Map::new();
    body.insert("filter".to_owned(), json!(filter));
    if let Some(config) = config {
        body.insert("config".to_owned(), Value::Object(input::object(config)?));
    }
    if let Some(version) = version {
        body.insert("version".to_owned(), json!(version));
    }
    if let Some(reason) = reason {
        body.insert("reason".to_owned(), json!(reason));
    }
    let request = client.post(&["dead-letters", "retry"]).json(&Value::Object(body));
    let mut job = request.once(once).send().await?;
    if *wait {
        job = follow(&client, job["id"].as_str().unwrap_or_default()).await?;
    }
    output.show(&job, output::job)?;
    Ok(if *wait { ended(&job) } else { Exit::Done })
}
