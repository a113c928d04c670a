//! `sprag workflow propose`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use sprag_core::document::source::{self, Limits};
use sprag_wire::{Workflow, WorkflowStatus};

use crate::client::{Once, Remote};
use crate::completion::words;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The operation
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    operation: Option<String>,
    /// File with a workflow of several steps
    #[arg(long)]
    file: Option<PathBuf>,
    /// Parameter; a VALUE may be JSON
    #[arg(long = "param", value_name = "NAME=VALUE", conflicts_with = "file")]
    params: Vec<String>,
    /// Why it is needed
    #[arg(long)]
    reason: Option<String>,
    /// A reference outside, such as a ticket
    #[arg(long)]
    ticket: Option<String>,
    /// now, soon or later [default: soon]
    #[arg(long, add = words(&["now", "soon", "later"]))]
    urgency: Option<String>,
    /// Begin after this time, such as 5m
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["at", "file"])]
    delay: Option<String>,
    /// Begin at this time, such as 2026-12-01T08:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "file")]
    at: Option<String>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Proposes it, and shows what it waits for.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let body = body(arguments)?;
    let client = arguments.remote.client()?;
    let document = client
        .post(&["workflows"])
        .json(&body)
        .once(&arguments.once)
        .send()
        .await?;
    output.show(&document, output::workflow)?;
    let workflow: Workflow = output::read(document)?;
    if output == Output::Text && workflow.status == WorkflowStatus::AwaitingApproval {
        output::note(&format!("it waits for approval: sprag workflow show {}", workflow.id));
    }
    Ok(Exit::Done)
}

fn body(arguments: &Arguments) -> Result<Value, Failure> {
    let mut body = match &arguments.file {
        Some(file) => of_file(file)?,
        None => Map::new(),
    };
    if let Some(operation) = &arguments.operation {
        body.insert("operation".to_owned(), json!(operation));
        body.insert("params".to_owned(), params(&arguments.params)?.into());
    }
    let given = [
        ("reason", &arguments.reason),
        ("ticket", &arguments.ticket),
        ("urgency", &arguments.urgency),
        ("delay", &arguments.delay),
        ("scheduledAt", &arguments.at),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            body.insert(name.to_owned(), json!(value));
        }
    }
    Ok(body.into())
}

fn of_file(file: &std::path::Path) -> Result<Map<String, Value>, Failure> {
    let text = input::text(file)?;
    let parsed = source::parse(&text, input::format(file, &text), &Limits::DEFINITION);
    let detail = match parsed.map(|document| document.value) {
        Ok(Value::Object(members)) => return Ok(members),
        Ok(_) => "it must be an object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Failure::invalid(format!(
        "`{}` cannot be read: {detail}",
        file.display()
    )))
}

/// `NAME=VALUE`, each once.
fn params(given: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut params = Map::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Failure::invalid(format!("`{text}` is no parameter; write NAME=VALUE")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        if params.insert(name.to_owned(), value).is_some() {
            return Err(Failure::invalid(format!("parameter `{name}` is given twice")));
        }
    }
    Ok(params)
}
