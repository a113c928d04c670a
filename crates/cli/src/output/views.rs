//! Executions, actions, machines and history as text.

use std::fmt::Display;

use serde_json::Value;
use sprag_core::time::Timestamp;
use sprag_wire::{
    Action, ActionStatus, Attempt, Cause, Execution, HistoryEntry, Machine, MachineSummary, Page, Queue, QueueDepth,
    QueueLine, QueuedType, Waiting, What,
};

use super::sentences::{Subject, reason};
use super::table::Table;
use super::terminal::one_line as plain;
use super::when::{When, now, span};

/// A value as text; a dash where there is none.
pub(crate) fn dash(value: Option<impl Display>) -> String {
    let text = value.map(|value| value.to_string()).filter(|text| !text.is_empty());
    text.unwrap_or_else(|| "-".to_owned())
}

/// Texts, one after another; a dash where there are none.
pub(super) fn joined<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    dash(Some(texts.join(", ")))
}

/// An instant, short; a dash where there is none.
pub(crate) fn instant(at: impl Into<Option<Timestamp>>) -> String {
    at.into().map_or_else(|| "-".to_owned(), |at| When::from(at).short())
}

/// A value that others define: text as it is, a list item by item, anything else as JSON.
fn value(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(items) => joined(&items.iter().map(text).collect::<Vec<_>>()),
        other => dash(Some(text(other))),
    }
}

/// What a list holds, a row each; nothing where it holds nothing.
pub(super) fn list<T>(items: &[T], mut table: Table, row: impl Fn(&T) -> Vec<String>) -> String {
    for item in items {
        table.row(row(item));
    }
    if table.is_empty() { String::new() } else { table.text() }
}

/// Executions, one a line.
pub(crate) fn executions(page: &Page<Execution>) -> String {
    list(
        &page.data,
        Table::new(&["ID", "MACHINE", "KEY", "STATUS", "STATES", "UPDATED"]).optional(&["UPDATED", "MACHINE"]),
        |item| {
            vec![
                item.id.to_string(),
                format!("{} v{}", item.machine, item.version),
                dash(item.key.as_ref()),
                item.status.to_string(),
                joined(&item.configuration),
                instant(item.updated_at),
            ]
        },
    )
}

/// One execution.
pub(crate) fn execution(execution: &Execution) -> String {
    let id = execution.id.to_string();
    let mut table = Table::bare();
    table.pair("id", &id);
    table.pair("machine", format!("{} v{}", execution.machine, execution.version));
    table.pair("key", dash(execution.key.as_ref()));
    table.pair("status", execution.status.to_string());
    table.pair("states", joined(&execution.configuration));
    table.pair(
        "waiting",
        reason(&execution.waiting, Subject::Execution(&id), now()).what,
    );
    table.pair("variables", Value::from(execution.variables.clone()).to_string());
    if !execution.tags.is_empty() {
        table.pair("tags", joined(&execution.tags));
    }
    for (name, given) in [
        (
            "output",
            execution.output.as_ref().filter(|output| !output.is_null()).map(value),
        ),
        ("failure", execution.failure.clone()),
    ] {
        if let Some(given) = given.filter(|given| !given.is_empty() && given != "-") {
            table.pair(name, given);
        }
    }
    table.pair("sequence", execution.sequence.to_string());
    table.pair("created", instant(execution.created_at));
    table.pair("updated", instant(execution.updated_at));
    table.text()
}

/// Actions, one a line.
pub(crate) fn actions(page: &Page<Action>) -> String {
    list(
        &page.data,
        Table::new(&[
            "ID",
            "MACHINE",
            "ACTION",
            "TYPE",
            "STATUS",
            "ATTEMPTS",
            "LAST ERROR",
            "RUN AT",
        ])
        .optional(&["RUN AT", "TYPE", "ATTEMPTS", "MACHINE"]),
        |item| {
            vec![
                item.id.to_string(),
                item.machine.clone(),
                item.action_id.clone(),
                item.kind.clone(),
                item.status.to_string(),
                item.attempts.len().to_string(),
                dash(item.last_error.as_ref().map(|error| &error.kind)),
                instant(item.run_at),
            ]
        },
    )
}

/// One action with its attempts.
pub(crate) fn action(action: &Action) -> String {
    let id = action.id.to_string();
    let mut table = Table::bare();
    table.pair("id", &id);
    table.pair("action", format!("{} ({})", action.action_id, action.kind));
    table.pair("machine", format!("{} v{}", action.machine, action.version));
    table.pair("execution", action.execution_id.to_string());
    if action.runner != action.kind {
        table.pair("runner", &action.runner);
    }
    table.pair("status", action.status.to_string());
    let waiting = match action.status {
        ActionStatus::Dead => "for a person: `sprag dlq retry` retries it, `sprag dlq archive` archives it".to_owned(),
        _ => reason(&action.waiting, Subject::Action(&id), now()).what,
    };
    table.pair("waiting", waiting);
    details(&mut table, action);
    table.pair("created", instant(action.created_at));
    table.pair("run at", instant(action.run_at));
    format!("{}{}", table.text(), attempts(&action.attempts))
}

/// What an action has only sometimes.
fn details(table: &mut Table, action: &Action) {
    let result = action.result.as_ref().filter(|result| !result.is_null());
    for (name, given) in [
        ("skipped", action.skipped.as_ref().map(ToString::to_string)),
        ("remark", action.remark.as_ref().map(ToString::to_string)),
        ("config", action.config.as_ref().map(value)),
        (
            "costEstimate",
            action.cost_estimate.map(|cost| Value::from(cost).to_string()),
        ),
        ("result", result.map(value)),
        ("duration", action.duration.map(|millis| format!("{millis} ms"))),
    ] {
        if let Some(given) = given {
            table.pair(name, given);
        }
    }
    for event in &action.result_events {
        table.pair("event", format!("{} {}", event.kind, event.payload));
    }
    for attempt in action.attempts.iter().filter(|attempt| !attempt.metadata.is_empty()) {
        let name = format!("metadata of attempt {}", attempt.number);
        table.pair(&name, Value::from(attempt.metadata.clone()).to_string());
    }
    if let Some(error) = &action.last_error {
        table.pair("last error", format!("{}: {}", error.kind, dash(Some(&error.message))));
    }
}

fn attempts(attempts: &[Attempt]) -> String {
    let table = Table::new(&["", "ATTEMPT", "STARTED", "ENDED", "OUTCOME", "LEASED TO", "ERROR"]).optional(&[
        "LEASED TO",
        "ENDED",
        "STARTED",
    ]);
    let text = list(attempts, table, |attempt| {
        let error = attempt.error.as_ref();
        let runner = attempt.lease.as_ref().and_then(|lease| lease.runner.as_ref());
        vec![
            attempt.number.to_string(),
            attempt.id.to_string(),
            instant(attempt.start_time),
            instant(attempt.end_time),
            dash(attempt.outcome.as_ref()),
            dash(runner),
            dash(error.map(|error| format!("{}: {}", error.kind, dash(Some(&error.message))))),
        ]
    });
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Machines, one a line.
pub(crate) fn machines(page: &Page<MachineSummary>) -> String {
    let table = Table::new(&["ID", "VERSION", "APPLIED", "DESCRIPTION"]).optional(&["APPLIED"]);
    list(&page.data, table, |item| {
        vec![
            item.id.clone(),
            item.version.to_string(),
            instant(item.created_at),
            dash(item.description.as_ref()),
        ]
    })
}

/// One machine version: its definition.
pub(crate) fn machine(machine: &Machine) -> String {
    let MachineSummary {
        id,
        version,
        digest,
        description: _,
        created_at,
    } = &machine.summary;
    let mut table = Table::bare();
    table.pair("id", id);
    table.pair("version", version.to_string());
    table.pair("digest", digest);
    table.pair("applied", instant(*created_at));
    for required in &machine.permissions {
        let reached: Vec<String> = required.permissions.iter().map(ToString::to_string).collect();
        if !reached.is_empty() {
            table.pair(&plain(&format!("{} may reach", required.action_id)), reached.join(", "));
        }
    }
    format!("{}\n{:#}\n", table.text(), machine.definition)
}

/// History entries, one a line.
pub(crate) fn history(page: &Page<HistoryEntry>) -> String {
    list(
        &page.data,
        Table::new(&["SEQUENCE", "AT", "WHAT", "LEFT", "ENTERED", "CHANGED"]).optional(&["CHANGED"]),
        |entry| {
            let (left, entered) = states(&entry.what);
            vec![
                entry.sequence.to_string(),
                instant(entry.at),
                what(&entry.what),
                joined(&left),
                joined(&entered),
                joined(&changed(&entry.what)),
            ]
        },
    )
}

/// The states that a history entry left and entered.
pub(super) fn states(what: &What) -> (Vec<&str>, Vec<&str>) {
    let What::Step { microsteps, .. } = what else {
        return (Vec::new(), Vec::new());
    };
    let left = microsteps.iter().flat_map(|step| &step.exited);
    let entered = microsteps.iter().flat_map(|step| &step.entered);
    (
        left.map(String::as_str).collect(),
        entered.map(String::as_str).collect(),
    )
}

/// The variables that a history entry changed.
pub(super) fn changed(what: &What) -> Vec<&str> {
    match what {
        What::Step { variables, .. } | What::Snapshot { variables, .. } => {
            variables.keys().map(String::as_str).collect()
        }
        _ => Vec::new(),
    }
}

/// What a history entry is about.
pub(super) fn what(what: &What) -> String {
    match what {
        What::Step { cause, handled, .. } if !handled => format!("{} (unhandled)", caused(cause, "step")),
        What::Step { cause, .. } => caused(cause, "step"),
        What::Refused { cause, error } => format!("{} failed: {}", caused(cause, "refused"), dash(Some(error))),
        What::Stuck { cause, error } => format!("{} failed: {}", caused(cause, "stuck"), dash(Some(error))),
        What::Other(members) => dash(members.get("kind").and_then(Value::as_str)),
        plain => named(plain),
    }
}

/// A kind that needs no words of its own: its name, and the texts that it holds.
fn named(what: &What) -> String {
    let members = serde_json::to_value(what).unwrap_or_default();
    let texts = members
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "kind");
    let texts: Vec<&str> = texts.filter_map(|(_, value)| value.as_str()).collect();
    let kind = dash(members["kind"].as_str());
    if texts.is_empty() {
        kind
    } else {
        format!("{kind}: {}", texts.join(", "))
    }
}

/// What caused an entry, or what kind it is where that is not known.
fn caused(cause: &Cause, kind: &str) -> String {
    match cause {
        Cause::Start => "start".to_owned(),
        Cause::Message { kind, .. } => format!("message {kind}"),
        Cause::Timer { .. } => "timer".to_owned(),
        Cause::Ended { action_id, how, .. } => format!("{how}.{action_id}"),
        Cause::Occurrence { action, .. } => format!("schedule of {action}"),
        Cause::Other => kind.to_owned(),
    }
}

/// The queue: first by type, then one line of the dispatcher a line.
pub(crate) fn queue(queue: &Queue) -> String {
    let types = list(
        &queue.types,
        Table::new(&["TYPE", "READY", "OLDEST", "RUNNING", "STARTED/MIN"]),
        |QueuedType {
             kind,
             depth,
             running,
             started_last_minute,
         }| {
            vec![
                kind.clone(),
                depth.ready.to_string(),
                age(depth),
                running.to_string(),
                started_last_minute.to_string(),
            ]
        },
    );
    let lines = list(
        &queue.data,
        Table::new(&["TYPE", "LIMITS", "DESTINATION", "READY", "OLDEST", "WAITING FOR"]).optional(&["DESTINATION"]),
        |line| {
            vec![
                line.kind.clone(),
                joined(&line.limits),
                dash(line.destination.as_ref()),
                line.depth.ready.to_string(),
                age(&line.depth),
                held_by(line),
            ]
        },
    );
    let held = match queue.held.ready {
        0 => String::new(),
        count => format!(
            "{count} more wait for a paused execution or a kill switch, the oldest for {}\n",
            age(&queue.held)
        ),
    };
    let parts = [types, lines, held].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// What holds a line back.
fn held_by(line: &QueueLine) -> String {
    match &line.waiting {
        Some(Waiting::Waiting { reason, object, .. }) => format!("{reason} {}", dash(Some(object))),
        _ => "-".to_owned(),
    }
}

/// How long the oldest waits.
fn age(depth: &QueueDepth) -> String {
    let seconds = depth.oldest_age.map(|millis| millis - millis % 1_000);
    seconds.map_or_else(|| "-".to_owned(), span)
}
