//! What happens, as it happens: one sentence a line.

use serde_json::Value;

use super::sentences::{Subject, reason};
use super::terminal::one_line as plain;
use super::views::{changed, error, field, instant, states, what};
use super::when::now;

/// A history entry.
pub(crate) fn happened(entry: &Value) -> String {
    let parts = [
        ("left", states(entry, "exited")),
        ("entered", states(entry, "entered")),
        ("changed", changed(entry)),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts = parts.map(|(word, names)| format!(", {word} {}", names.join(", ")));
    let sentence = format!(
        "{}  {}  {}",
        instant(entry, "at"),
        field(entry, "sequence"),
        what(entry)
    );
    let sentence: String = std::iter::once(sentence).chain(parts).collect();
    plain(&sentence)
}

/// An action as it is now.
pub(crate) fn acts(action: &Value) -> String {
    let id = field(action, "id");
    let name = format!("action {} ({})", field(action, "actionId"), field(action, "type"));
    let status = field(action, "status");
    let sentence = match status.as_str() {
        "succeeded" => format!("{name} succeeded: {}", action["result"]),
        "dead" => format!("{name} is a dead letter: {}", error(&action["lastError"])),
        "cancelled" | "skipped" | "archived" => format!("{name} is {status}"),
        _ => format!(
            "{name} is {status}: {}",
            reason(&action["waiting"], Subject::Action(&id), now()).what
        ),
    };
    plain(&sentence)
}

/// An execution as it is now.
pub(crate) fn stands(execution: &Value) -> String {
    let id = field(execution, "id");
    let status = field(execution, "status");
    let rest = match status.as_str() {
        "completed" => format!("output {}", execution["output"]),
        "cancelled" => format!("in {}", field(execution, "configuration")),
        "failed" => {
            let reason = reason(&execution["waiting"], Subject::Execution(&id), now());
            format!("{}; what frees it: {}", field(execution, "failure"), reason.freed_by)
        }
        _ => format!(
            "in {}; {}",
            field(execution, "configuration"),
            reason(&execution["waiting"], Subject::Execution(&id), now()).what
        ),
    };
    plain(&format!("{id} is {status}: {rest}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_one_sentence() {
        let entry = json!({
            "sequence": 3, "at": "2026-01-31T12:00:00.000Z", "kind": "step", "handled": true,
            "cause": {"cause": "message", "type": "PAY"}, "variables": {"by": "Ada"},
            "microsteps": [{"event": "PAY", "exited": ["open"], "entered": ["paid"]}],
        });
        assert_eq!(
            happened(&entry),
            "2026-01-31 12:00:00Z  3  message PAY, left open, entered paid, changed by"
        );
    }

    #[test]
    fn what_others_wrote_stays_on_its_line() {
        let execution = json!({"id": "exe_1", "status": "completed", "output": "a\u{1b}[31m\nb"});
        let sentence = stands(&execution);
        assert!(!sentence.contains(['\n', '\u{1b}']), "{sentence:?}");
    }
}
