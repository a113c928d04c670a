//! `sprag service explain`.

use std::fmt::Write as _;

use serde_json::Value;

use super::Supervisor;
use super::list::{field, why};
use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service: its name, or `parent/child`
    path: String,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Says why it is where it is.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.get(&["workers", &arguments.path, "explain"]).send().await?;
    output.show(&document, text)?;
    Ok(Exit::Done)
}

fn text(worker: &Value) -> String {
    let mut table = Table::bare();
    let names = [
        "path",
        "state",
        "since",
        "goal",
        "pid",
        "restarts",
        "circuit",
        "observation",
    ];
    for name in names {
        let value = field(worker, name);
        if !value.is_empty() {
            table.pair(name, value);
        }
    }
    table.pair("reason", why(worker));
    for hold in list(worker, "holds") {
        table.pair("holds", of_hold(hold));
        table.pair("  you can", field(hold, "remedy"));
    }
    for rule in list(worker, "rules") {
        table.pair("rule", of_rule(rule));
    }
    for escalation in list(worker, "escalations") {
        let (child, cause) = (field(escalation, "child"), field(escalation, "cause"));
        table.pair(
            "gave up on",
            format!("{child}, since {}: {cause}", field(escalation, "since")),
        );
        table.pair(
            "  you can",
            format!("sprag service restart {}/{child}", field(worker, "path")),
        );
    }
    for error in list(worker, "childErrors") {
        table.pair("child error", error.as_str().unwrap_or_default());
    }
    let action = &worker["action"];
    if !field(action, "name").is_empty() {
        table.pair("last action", of_action(action));
    }
    if let Some(runbook) = worker["runbook"].as_str() {
        table.pair("runbook", runbook);
    }
    table.text()
}

fn list<'w>(worker: &'w Value, name: &str) -> impl Iterator<Item = &'w Value> {
    worker[name].as_array().into_iter().flatten()
}

fn of_hold(hold: &Value) -> String {
    let mut text = format!(
        "{}, since {}; next: {}",
        field(hold, "what"),
        field(hold, "since"),
        field(hold, "next")
    );
    if let Some(at) = hold["at"].as_str() {
        let _ = write!(text, " at {at}");
    }
    if let Some(gives_up) = hold["givesUp"].as_str() {
        let _ = write!(text, "; given up at {gives_up}");
    }
    text
}

fn of_rule(rule: &Value) -> String {
    let mut text = format!(
        "{}: circuit {}, {} of {} detections, last check {}",
        field(rule, "name"),
        field(rule, "circuit"),
        field(rule, "detections"),
        field(rule, "detectionsMax"),
        rule["lastCheck"].as_str().unwrap_or("none yet"),
    );
    if let Some(reason) = rule["reason"].as_str() {
        let _ = write!(text, " ({reason})");
    }
    if let Some(next) = rule["nextAt"].as_str() {
        let _ = write!(text, "; next at {next}");
    }
    text
}

fn of_action(action: &Value) -> String {
    let outcome = match &action["outcome"] {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    match action["error"].as_str() {
        Some(error) => format!("{}: {outcome}: {error}", field(action, "name")),
        None => format!("{}: {outcome}", field(action, "name")),
    }
}
