//! What the W3C SCXML text, and `XState`'s default, ask of an interpreter, one scenario at a time. The expectations were
//! reasoned from the text; `step` and the naive interpreter are both held to them.
//!
//! Machines are written without their logs: every state says `+name` when it is entered and `-name` when it is left.

mod histories;
mod moves;
mod order;
mod regions;

use serde_json::{Value, json};

use super::agreement::Pair;
use crate::document::source::{Format, Limits, parse};
use crate::machine::load_stored;

/// Runs a machine through a script. Each line is an event (the first one `start`), the active atomic and final states
/// after it, and what was logged on the way: `go: b.x c | -a +b`.
fn check(text: &str, script: &str) {
    let mut definition = parse(text, Format::Yaml, &Limits::DEFINITION).unwrap().value;
    definition["id"] = json!("m");
    announce(&mut definition, "m");
    let machine = load_stored(&definition).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut pair = Pair::new(&machine);
    for line in script.trim().lines() {
        let (event, rest) = line
            .trim()
            .split_once(": ")
            .unwrap_or_else(|| panic!("no event in `{line}`"));
        let (states, log) = rest.split_once(" | ").unwrap_or((rest, ""));
        let agreed = if event == "start" {
            pair.start()
        } else {
            pair.send(event, &Value::Null)
        };
        agreed.unwrap_or_else(|error| panic!("at `{line}` of\n{text}\n{error}"));
        let active = machine.configuration(&pair.real.execution.active).join(" ");
        let found = format!("{active} | {}", pair.log.join(" "));
        assert_eq!(
            found,
            format!("{} | {}", states.trim(), log.trim()),
            "at `{line}` of\n{text}"
        );
    }
}

/// Puts the logs first in what every state does.
fn announce(state: &mut Value, name: &str) {
    let is_history = state.get("history").is_some();
    if state.is_null() {
        *state = json!({});
    }
    if !is_history {
        for (key, sign) in [("entry", '+'), ("exit", '-')] {
            let mut operations = vec![json!({ "log": format!("{sign}{name}") })];
            match state[key].take() {
                Value::Null => {}
                Value::Array(more) => operations.extend(more),
                one => operations.push(one),
            }
            state[key] = Value::Array(operations);
        }
    }
    if let Some(Value::Object(states)) = state.get_mut("states") {
        for (name, state) in states {
            announce(state, name);
        }
    }
}
