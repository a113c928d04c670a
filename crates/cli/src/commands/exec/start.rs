//! `sprag exec start`.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sprag_core::duration::Millis;

use crate::client::{Client, Once, Remote};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};

/// The server lets nobody wait longer at a time.
const WAIT_MILLIS_MAX: u64 = 60_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine's name
    machine: String,
    /// Unique among the machine's open executions
    #[arg(long)]
    key: Option<String>,
    /// A variable, as JSON or text; repeatable
    #[arg(long = "var", value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// All variables: a JSON object, or a YAML or JSON file
    #[arg(long, value_name = "JSON|FILE")]
    variables: Option<String>,
    /// A tag; repeat it for more
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The version of the machine [default: the newest]
    #[arg(long)]
    version: Option<u32>,
    /// Wait at most this long for the end
    #[arg(long, value_name = "DURATION", value_parser = Millis::parse)]
    wait: Option<Millis>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Starts the execution and shows it.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let mut left = arguments.wait.map(Millis::get);
    let wait = take(&mut left);
    let request = client.post(&["executions"]).json(&body(arguments)?);
    let mut execution = request
        .query("wait", wait.map(text))
        .waiting(wait.unwrap_or_default())
        .once(&arguments.once)
        .send()
        .await?;
    while is_open(&execution) && left.is_some_and(|left| left > 0) {
        execution = wait_on(&client, &execution, take(&mut left)).await?;
    }
    output.show(&execution, output::execution)?;
    if let Some(wait) = arguments.wait.filter(|_| is_open(&execution)) {
        output::note(&format!("still open after {wait}"));
    }
    Ok(Exit::Done)
}

fn body(arguments: &Arguments) -> Result<Value, Failure> {
    let Arguments {
        machine,
        key,
        var,
        variables,
        tags,
        version,
        wait: _,
        once: _,
        remote: _,
    } = arguments;
    let all = input::variables(variables.as_deref(), var)?;
    let mut body = Map::new();
    body.insert("machine".to_owned(), json!(machine));
    body.insert("variables".to_owned(), Value::Object(all));
    let optional = [
        ("key", key.as_ref().map(|key| json!(key))),
        ("version", version.map(|version| json!(version))),
    ];
    body.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?))),
    );
    if !tags.is_empty() {
        body.insert("tags".to_owned(), json!(tags));
    }
    Ok(Value::Object(body))
}

/// The next stretch of what is left to wait.
fn take(left: &mut Option<u64>) -> Option<Duration> {
    let left = left.as_mut()?;
    let stretch = (*left).min(WAIT_MILLIS_MAX);
    *left -= stretch;
    Some(Duration::from_millis(stretch))
}

fn text(wait: Duration) -> String {
    format!("{}ms", wait.as_millis())
}

async fn wait_on(client: &Client, execution: &Value, wait: Option<Duration>) -> Result<Value, Failure> {
    let id = execution["id"].as_str().unwrap_or_default();
    let request = client.get(&["executions", id]).query("wait", wait.map(text));
    request.waiting(wait.unwrap_or_default()).send().await
}

fn is_open(execution: &Value) -> bool {
    !matches!(execution["status"].as_str(), Some("completed" | "cancelled"))
}
