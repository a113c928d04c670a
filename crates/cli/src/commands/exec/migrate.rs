//! `sprag exec migrate`.

use serde_json::{Map, Value, json};

use crate::client::Remote;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The execution's id
    id: String,
    /// The version to move to; the newest unless given
    #[arg(long)]
    version: Option<u32>,
    /// Where a state is called otherwise in that version; repeat it for more
    #[arg(long = "state", value_name = "OLD=NEW")]
    states: Vec<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Moves the execution and shows it.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        id,
        version,
        states,
        remote,
    } = arguments;
    let client = remote.client()?;
    let mut body = Map::new();
    if let Some(version) = version {
        body.insert("version".to_owned(), json!(version));
    }
    let renamed: Map<String, Value> = states.iter().map(|pair| renamed(pair)).collect::<Result<_, _>>()?;
    if !renamed.is_empty() {
        body.insert("states".to_owned(), Value::Object(renamed));
    }
    let execution = client
        .post(&["executions", id, "migrate"])
        .json(&Value::Object(body))
        .send()
        .await?;
    output.show(&execution, output::execution)?;
    Ok(Exit::Done)
}

fn renamed(pair: &str) -> Result<(String, Value), Failure> {
    match pair.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), json!(new))),
        _ => Err(Failure::invalid(format!("`{pair}` is not OLD=NEW")).note("as in `waiting.first=waiting`")),
    }
}
