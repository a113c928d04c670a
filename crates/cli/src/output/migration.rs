//! What a move to another version would do, as text.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::Table;
use super::terminal::one_line as plain;
use super::views::instant;
use super::when::span;

/// The check of a migration: states, timers, what stands in the way, and where the other version would have led elsewhere.
pub(crate) fn migration(document: &Value) -> String {
    let possible = if document["possible"] == Value::Bool(true) {
        "possible"
    } else {
        "impossible"
    };
    let mut text = format!(
        "version {} to {}: {possible}; nothing was changed\n",
        document["from"], document["to"]
    );
    let mut states = Table::new(&["STATE", "BECOMES"]);
    for state in items(document, "states") {
        states.row(vec![word(state, "from", "(entered)"), word(state, "to", "(nothing)")]);
    }
    let mut timers = Table::new(&["TIMER", "STATE", "DUE", "CHANGE"]);
    for timer in items(document, "timers") {
        let name = match &timer["schedule"] {
            Value::String(action) => format!("schedule of {action}"),
            _ => format!("after {}", span(timer["after"].as_u64().unwrap_or_default())),
        };
        timers.row(vec![
            name,
            word(timer, "state", "-"),
            instant(timer, "dueAt"),
            word(timer, "change", "-"),
        ]);
    }
    for table in [states, timers] {
        if !table.is_empty() {
            text.push_str(&table.text());
        }
    }
    for problem in items(document, "problems") {
        let (pointer, detail) = (word(problem, "pointer", "/"), word(problem, "detail", "-"));
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{pointer}: {detail}");
    }
    if let Some(detail) = document["divergence"]["detail"].as_str() {
        let sequence = &document["divergence"]["sequence"];
        let _ = writeln!(text, "diverges at entry {sequence}: {}", plain(detail));
    } else if document["possible"] == Value::Bool(true) {
        let _ = writeln!(text, "replayed: {} steps, all the same", document["replayed"]);
    }
    text
}

/// What became, or would become, of many executions: a line each.
pub(crate) fn migrations(document: &Value) -> String {
    let mut table = Table::new(&["ID", "RESULT"]);
    for row in items(document, "data") {
        table.row(vec![word(row, "id", "-"), plain(&result(row))]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn result(row: &Value) -> String {
    if let Some(detail) = row["problem"]["detail"].as_str() {
        return format!("refused: {detail}");
    }
    let check = &row["check"];
    if !check.is_object() {
        return format!("moved to version {}", row["execution"]["version"]);
    }
    if let Some(problem) = items(check, "problems").first() {
        return format!("impossible: {}", word(problem, "detail", "-"));
    }
    match check["divergence"]["detail"].as_str() {
        Some(detail) => format!("diverges at entry {}: {detail}", check["divergence"]["sequence"]),
        None => format!("version {} to {}: the same", check["from"], check["to"]),
    }
}

fn items<'d>(document: &'d Value, name: &str) -> &'d [Value] {
    document[name].as_array().map_or(&[], Vec::as_slice)
}

fn word(document: &Value, name: &str, none: &str) -> String {
    let text = document[name].as_str().filter(|text| !text.is_empty());
    plain(text.unwrap_or(none))
}
