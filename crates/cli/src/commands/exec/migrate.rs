//! `sprag exec migrate`.

use serde_json::{Map, Value, json};

use crate::client::{Once, Remote};
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
    /// Only say what would happen; nothing is changed
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Moves the execution and shows it, or shows what that would do: an impossible move is a failure.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        id,
        version,
        states,
        check,
        once,
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
    if *check {
        body.insert("check".to_owned(), json!(true));
    }
    let document = client
        .post(&["executions", id, "migrate"])
        .json(&Value::Object(body))
        .once(once)
        .send()
        .await?;
    if !*check {
        output.show(&document, output::execution)?;
        return Ok(Exit::Done);
    }
    output.show(&document, output::migration)?;
    let is_possible = document["possible"] == Value::Bool(true);
    Ok(if is_possible { Exit::Done } else { Exit::Failed })
}

fn renamed(pair: &str) -> Result<(String, Value), Failure> {
    match pair.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), json!(new))),
        _ => Err(Failure::invalid(format!("`{pair}` is not OLD=NEW")).note("as in `waiting.first=waiting`")),
    }
}
