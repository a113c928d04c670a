//! `sprag service list`.

use serde_json::Value;

use super::Supervisor;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Lists the services, parents before their children. As JSON it is one array.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.get(&["workers"]).send().await?;
    match output {
        Output::Json => output::json(&document["data"])?,
        Output::Text => list::show(output, &document, text)?,
    }
    Ok(Exit::Done)
}

fn text(document: &Value) -> String {
    let headings = [
        "PATH",
        "STATE",
        "PID",
        "RESTARTS",
        "CIRCUIT",
        "OBSERVATION",
        "SINCE",
        "REASON",
    ];
    let mut table = Table::new(&headings).optional(&["OBSERVATION", "CIRCUIT", "SINCE", "RESTARTS"]);
    for worker in document["data"].as_array().into_iter().flatten() {
        table.row([
            field(worker, "path"),
            field(worker, "state"),
            field(worker, "pid"),
            field(worker, "restarts"),
            field(worker, "circuit"),
            field(worker, "observation"),
            field(worker, "since"),
            why(worker),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

/// A field as text; nothing where there is none.
pub(super) fn field(worker: &Value, name: &str) -> String {
    match &worker[name] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What it waits for, or why it is where it is.
pub(super) fn why(worker: &Value) -> String {
    match worker["waiting"].as_str() {
        Some(waiting) => format!("{}; waits for {waiting}", field(worker, "reason")),
        None => field(worker, "reason"),
    }
}
