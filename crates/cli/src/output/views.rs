//! Executions, actions, machines and history as text.

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::sentences::{Subject, reason};
use super::table::Table;
use super::terminal::one_line as plain;
use super::when::{When, now, span};

/// A field as text; a dash where there is nothing.
pub(super) fn field(document: &Value, name: &str) -> String {
    match &document[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            texts.join(", ")
        }
        other => other.to_string(),
    }
}

/// An instant, short; a dash where there is none.
pub(crate) fn instant(document: &Value, name: &str) -> String {
    let text = field(document, name);
    When::parse(&text).map_or(text, When::short)
}

fn machine_of(document: &Value) -> String {
    format!("{} v{}", field(document, "machine"), field(document, "version"))
}

fn rows(document: &Value) -> &[Value] {
    document["data"].as_array().map_or(&[], Vec::as_slice)
}

/// Whatever a list holds, or that it holds nothing.
pub(super) fn list(document: &Value, mut table: Table, row: impl Fn(&Value) -> Vec<String>) -> String {
    for item in rows(document) {
        table.row(row(item));
    }
    if table.is_empty() { String::new() } else { table.text() }
}

/// Executions, one a line.
pub(crate) fn executions(document: &Value) -> String {
    list(
        document,
        Table::new(&["ID", "MACHINE", "KEY", "STATUS", "STATES", "UPDATED"]).optional(&["UPDATED", "MACHINE"]),
        |item| {
            vec![
                field(item, "id"),
                machine_of(item),
                field(item, "key"),
                field(item, "status"),
                field(item, "configuration"),
                instant(item, "updatedAt"),
            ]
        },
    )
}

/// One execution.
pub(crate) fn execution(document: &Value) -> String {
    execution_at(document, now())
}

fn execution_at(document: &Value, now: Timestamp) -> String {
    let id = field(document, "id");
    let mut table = Table::bare();
    table.pair("id", &id);
    table.pair("machine", machine_of(document));
    table.pair("key", field(document, "key"));
    table.pair("status", field(document, "status"));
    table.pair("states", field(document, "configuration"));
    table.pair(
        "waiting",
        reason(&document["waiting"], Subject::Execution(&id), now).what,
    );
    table.pair("variables", document["variables"].to_string());
    for name in ["tags", "output", "failure"] {
        if !matches!(&document[name], Value::Null) && field(document, name) != "-" {
            table.pair(name, field(document, name));
        }
    }
    table.pair("sequence", field(document, "sequence"));
    table.pair("created", instant(document, "createdAt"));
    table.pair("updated", instant(document, "updatedAt"));
    table.text()
}

/// Actions, one a line.
pub(crate) fn actions(document: &Value) -> String {
    list(
        document,
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
                field(item, "id"),
                field(item, "machine"),
                field(item, "actionId"),
                field(item, "type"),
                field(item, "status"),
                item["attempts"].as_array().map_or(0, Vec::len).to_string(),
                field(&item["lastError"], "type"),
                instant(item, "runAt"),
            ]
        },
    )
}

/// One action with its attempts.
pub(crate) fn action(document: &Value) -> String {
    let id = field(document, "id");
    let mut table = Table::bare();
    table.pair("id", &id);
    table.pair(
        "action",
        format!("{} ({})", field(document, "actionId"), field(document, "type")),
    );
    table.pair("machine", machine_of(document));
    table.pair("execution", field(document, "executionId"));
    if field(document, "runner") != field(document, "type") {
        table.pair("runner", field(document, "runner"));
    }
    table.pair("status", field(document, "status"));
    let waiting = match field(document, "status").as_str() {
        "dead" => "for a person: `sprag dlq retry` tries it again, `sprag dlq archive` puts it away".to_owned(),
        _ => reason(&document["waiting"], Subject::Action(&id), now()).what,
    };
    table.pair("waiting", waiting);
    for name in ["skipped", "remark", "config", "costEstimate", "result"] {
        if !document[name].is_null() {
            table.pair(name, field(document, name));
        }
    }
    if let Some(millis) = document["duration"].as_u64() {
        table.pair("duration", format!("{millis} ms"));
    }
    for event in document["resultEvents"].as_array().into_iter().flatten() {
        table.pair("event", format!("{} {}", field(event, "type"), event["payload"]));
    }
    for attempt in document["attempts"].as_array().into_iter().flatten() {
        if attempt["metadata"].is_object() {
            let name = format!("metadata of attempt {}", attempt["number"]);
            table.pair(&name, field(attempt, "metadata"));
        }
    }
    if document["lastError"].is_object() {
        table.pair("last error", error(&document["lastError"]));
    }
    table.pair("created", instant(document, "createdAt"));
    table.pair("run at", instant(document, "runAt"));
    format!("{}{}", table.text(), attempts(document))
}

/// `type: message`.
pub(super) fn error(error: &Value) -> String {
    format!("{}: {}", field(error, "type"), field(error, "message"))
}

fn attempts(document: &Value) -> String {
    let mut table = Table::new(&["", "ATTEMPT", "STARTED", "ENDED", "OUTCOME", "LEASED TO", "ERROR"]).optional(&[
        "LEASED TO",
        "ENDED",
        "STARTED",
    ]);
    for attempt in document["attempts"].as_array().into_iter().flatten() {
        let why = if attempt["error"].is_object() {
            error(&attempt["error"])
        } else {
            "-".to_owned()
        };
        table.row([
            field(attempt, "number"),
            field(attempt, "id"),
            instant(attempt, "startTime"),
            instant(attempt, "endTime"),
            field(attempt, "outcome"),
            field(&attempt["lease"], "runner"),
            why,
        ]);
    }
    if table.is_empty() {
        String::new()
    } else {
        format!("\n{}", table.text())
    }
}

/// Machines, one a line.
pub(crate) fn machines(document: &Value) -> String {
    let table = Table::new(&["ID", "VERSION", "APPLIED", "DESCRIPTION"]).optional(&["APPLIED"]);
    list(document, table, |item| {
        let description = item.get("description").unwrap_or(&item["definition"]["description"]);
        vec![
            field(item, "id"),
            field(item, "version"),
            instant(item, "createdAt"),
            description.as_str().unwrap_or("-").to_owned(),
        ]
    })
}

/// One machine version: its definition.
pub(crate) fn machine(document: &Value) -> String {
    let mut table = Table::bare();
    for (name, shown) in [("id", "id"), ("version", "version"), ("digest", "digest")] {
        if !document[name].is_null() {
            table.pair(shown, field(document, name));
        }
    }
    table.pair("applied", instant(document, "createdAt"));
    for required in document["permissions"].as_array().into_iter().flatten() {
        let reached = required["permissions"].as_array().into_iter().flatten();
        let reached: Vec<String> = reached
            .map(|one| format!("{} {}", field(one, "scope"), field(one, "object")))
            .collect();
        if !reached.is_empty() {
            table.pair(
                &plain(&format!("{} may reach", field(required, "actionId"))),
                reached.join(", "),
            );
        }
    }
    format!("{}\n{:#}\n", table.text(), document["definition"])
}

/// History entries, one a line.
pub(crate) fn history(document: &Value) -> String {
    list(
        document,
        Table::new(&["SEQUENCE", "AT", "WHAT", "LEFT", "ENTERED", "CHANGED"]).optional(&["CHANGED"]),
        |item| {
            let joined = |names: Vec<&str>| {
                if names.is_empty() {
                    "-".to_owned()
                } else {
                    names.join(", ")
                }
            };
            vec![
                field(item, "sequence"),
                instant(item, "at"),
                what(item),
                joined(states(item, "exited")),
                joined(states(item, "entered")),
                joined(changed(item)),
            ]
        },
    )
}

/// The states that a history entry left (`exited`) or entered.
pub(super) fn states<'a>(item: &'a Value, name: &str) -> Vec<&'a str> {
    let microsteps = item["microsteps"].as_array().into_iter().flatten();
    let names = microsteps.flat_map(|step| step[name].as_array().into_iter().flatten());
    names.filter_map(Value::as_str).collect()
}

/// The variables that a history entry changed.
pub(super) fn changed(item: &Value) -> Vec<&str> {
    let variables = item["variables"].as_object().into_iter().flatten();
    variables.map(|(name, _)| name.as_str()).collect()
}

/// What a history entry is about.
pub(super) fn what(item: &Value) -> String {
    let cause = &item["cause"];
    let name = match cause["cause"].as_str() {
        Some("start") => "start".to_owned(),
        Some("message") => format!("message {}", field(cause, "type")),
        Some("ended") => format!("{}.{}", field(cause, "how"), field(cause, "actionId")),
        Some("timer") => "timer".to_owned(),
        Some("occurrence") => format!("schedule of {}", field(cause, "action")),
        _ => field(item, "kind"),
    };
    match item["kind"].as_str() {
        Some("step") if item["handled"] == Value::Bool(false) => format!("{name} (unhandled)"),
        Some("refused" | "stuck") => format!("{name} failed: {}", field(item, "error")),
        _ => name,
    }
}

/// The queue: first by type, then one line of the dispatcher a line.
pub(crate) fn queue(document: &Value) -> String {
    let types = Value::from_iter([("data", document["types"].clone())]);
    let types = list(
        &types,
        Table::new(&["TYPE", "READY", "OLDEST", "RUNNING", "STARTED/MIN"]),
        |item| {
            vec![
                field(item, "type"),
                field(item, "ready"),
                age(item),
                field(item, "running"),
                field(item, "startedLastMinute"),
            ]
        },
    );
    let lines = list(
        document,
        Table::new(&["TYPE", "LIMITS", "DESTINATION", "READY", "OLDEST", "WAITING FOR"]).optional(&["DESTINATION"]),
        |item| {
            vec![
                field(item, "type"),
                field(item, "limits"),
                field(item, "destination"),
                field(item, "ready"),
                age(item),
                match item["waiting"]["for"].as_str() {
                    Some(reason) => format!("{reason} {}", field(&item["waiting"], "object")),
                    None => "-".to_owned(),
                },
            ]
        },
    );
    let held = match &document["held"]["ready"] {
        Value::Number(count) if count.as_u64() != Some(0) => format!(
            "{count} more are held by a paused execution or a kill switch, the oldest for {}\n",
            age(&document["held"])
        ),
        _ => String::new(),
    };
    let parts = [types, lines, held].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// How long the oldest waits.
fn age(item: &Value) -> String {
    let seconds = item["oldestAge"].as_u64().map(|millis| millis - millis % 1_000);
    seconds.map_or_else(|| "-".to_owned(), span)
}
