//! `sprag exec start`.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::time::duration::Millis;
use sprag_wire::{Execution, Start};

use crate::client::{Client, Once, Remote, Why};
use crate::completion::Names;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};

/// The longest wait of one request.
const WAIT_MILLIS_MAX: u64 = 60_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The machine's name
    #[arg(add = Names::Machines.completer())]
    machine: String,
    /// Key, unique among the machine's open executions
    #[arg(long)]
    key: Option<String>,
    /// Set a variable, as JSON or text; repeatable
    #[arg(long = "var", value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// Set all variables: a JSON object, or a file
    #[arg(long, value_name = "JSON|FILE")]
    variables: Option<String>,
    /// Add a tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Version of the machine [default: the newest]
    #[arg(long)]
    version: Option<u32>,
    /// Wait this long for the end, up to 60s
    #[arg(long, value_name = "DURATION", value_parser = Millis::parse)]
    wait: Option<Millis>,
    #[command(flatten)]
    why: Why,
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
    let request = client.post(&["executions"]).json(&json!(body(arguments)?));
    let mut document = request
        .query("wait", wait.map(text))
        .waiting(wait.unwrap_or_default())
        .once(&arguments.once)
        .why(&arguments.why)
        .send()
        .await?;
    while let (Some(1..), Some(open)) = (left, open(&document, left)?) {
        document = wait_on(&client, &open, take(&mut left)).await?;
    }
    output.show(&document, output::execution)?;
    if let (Some(wait), Some(_)) = (arguments.wait, open(&document, left)?) {
        output::note(&format!("still open after {wait}"));
    }
    Ok(Exit::Done)
}

fn body(arguments: &Arguments) -> Result<Start, Failure> {
    let Arguments {
        machine,
        key,
        var,
        variables,
        tags,
        version,
        wait: _,
        once: _,
        why: _,
        remote: _,
    } = arguments;
    Ok(Start {
        machine: machine.clone(),
        version: *version,
        key: key.clone(),
        variables: input::variables(variables.as_deref(), var)?,
        tags: tags.clone(),
    })
}

/// The execution, where it is to be waited for and still open. Nothing else of the answer matters to who does not wait.
fn open(document: &Value, left: Option<u64>) -> Result<Option<Execution>, Failure> {
    if left.is_none() {
        return Ok(None);
    }
    let execution: Execution = output::read(document.clone())?;
    Ok(execution.is_open().then_some(execution))
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

async fn wait_on(client: &Client, execution: &Execution, wait: Option<Duration>) -> Result<Value, Failure> {
    let id = execution.id.to_string();
    let request = client.get(&["executions", &id]).query("wait", wait.map(text));
    request.waiting(wait.unwrap_or_default()).send().await
}
