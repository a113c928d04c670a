//! `sprag service list`.

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::Supervisor;
use super::sentences::rule;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output, Table, instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Lists the services, parents before their children. As JSON it is one array.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = list::whole(&client, &["workers"]).await?;
    match output {
        Output::Json => output::json(&document["data"])?,
        Output::Text => list::show(output, &document, |document| text(document, output::now()))?,
    }
    Ok(Exit::Done)
}

fn text(document: &Value, now: Timestamp) -> String {
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
            instant(worker, "since"),
            why(worker),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!("{}{}", table.text(), rules(document, now))
}

/// The rules that restart services, a sentence each.
fn rules(document: &Value, now: Timestamp) -> String {
    let workers = document["data"].as_array().into_iter().flatten();
    let rules = workers.flat_map(|worker| worker["restartedBy"].as_array().into_iter().flatten());
    rules.flat_map(|known| [rule(known, now), "\n".to_owned()]).collect()
}

/// A field as text; nothing where there is none.
pub(super) fn field(worker: &Value, name: &str) -> String {
    match &worker[name] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The path of a child of the supervisor or of a service.
pub(super) fn below(path: &str, child: &str) -> String {
    match path {
        "/" => child.to_owned(),
        path => format!("{path}/{child}"),
    }
}

/// What it waits for, or why it is where it is.
pub(super) fn why(worker: &Value) -> String {
    match worker["waiting"].as_str() {
        Some(waiting) => format!("{}; waits for {waiting}", field(worker, "reason")),
        None => field(worker, "reason"),
    }
}
