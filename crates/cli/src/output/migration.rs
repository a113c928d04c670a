//! What a move to another version would do, as text.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::{Table, plain};

/// The check of a migration: states, timers, and what stands in the way.
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
            _ => format!("after {} ms", timer["after"]),
        };
        timers.row(vec![
            name,
            word(timer, "state", "-"),
            word(timer, "dueAt", "-"),
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
    text
}

fn items<'d>(document: &'d Value, name: &str) -> &'d [Value] {
    document[name].as_array().map_or(&[], Vec::as_slice)
}

fn word(document: &Value, name: &str, none: &str) -> String {
    let text = document[name].as_str().filter(|text| !text.is_empty());
    plain(text.unwrap_or(none))
}
