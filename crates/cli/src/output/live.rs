//! What happens, as it happens: one sentence a line.

use sprag_wire::{Action, ActionStatus, Execution, ExecutionStatus, HistoryEntry};

use super::sentences::{Subject, reason};
use super::terminal::one_line as plain;
use super::views::{changed, dash, instant, joined, states, what};
use super::when::now;

/// A history entry.
pub(crate) fn happened(entry: &HistoryEntry) -> String {
    let (left, entered) = states(&entry.what);
    let parts = [("left", left), ("entered", entered), ("changed", changed(&entry.what))];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts = parts.map(|(word, names)| format!(", {word} {}", names.join(", ")));
    let sentence = format!("{}  {}  {}", instant(entry.at), entry.sequence, what(&entry.what));
    let sentence: String = std::iter::once(sentence).chain(parts).collect();
    plain(&sentence)
}

/// An action as it is now.
pub(crate) fn acts(action: &Action) -> String {
    let id = action.id.to_string();
    let name = format!("action {} ({})", action.action_id, action.kind);
    let status = &action.status;
    let sentence = match status {
        ActionStatus::Succeeded => {
            let result = action.result.clone().unwrap_or_default();
            format!("{name} succeeded: {result}")
        }
        ActionStatus::Dead => {
            let error = action.last_error.as_ref();
            let (kind, message) = (error.map(|error| &error.kind), error.map(|error| &error.message));
            format!("{name} is a dead letter: {}: {}", dash(kind), dash(message))
        }
        ActionStatus::Cancelled | ActionStatus::Skipped | ActionStatus::Archived => format!("{name} is {status}"),
        _ => format!(
            "{name} is {status}: {}",
            reason(&action.waiting, Subject::Action(&id), now()).what
        ),
    };
    plain(&sentence)
}

/// An execution as it is now.
pub(crate) fn stands(execution: &Execution) -> String {
    let id = execution.id.to_string();
    let status = &execution.status;
    let rest = match status {
        ExecutionStatus::Completed => format!("output {}", execution.output.clone().unwrap_or_default()),
        ExecutionStatus::Cancelled => format!("in {}", joined(&execution.configuration)),
        ExecutionStatus::Failed => {
            let reason = reason(&execution.waiting, Subject::Execution(&id), now());
            format!(
                "{}; what frees it: {}",
                dash(execution.failure.as_ref()),
                reason.freed_by
            )
        }
        _ => format!(
            "in {}; {}",
            joined(&execution.configuration),
            reason(&execution.waiting, Subject::Execution(&id), now()).what
        ),
    };
    plain(&format!("{id} is {status}: {rest}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn an_entry_is_one_sentence() {
        let entry = json!({
            "sequence": 3, "at": "2026-01-31T12:00:00.000Z", "kind": "step", "handled": true,
            "cause": {"cause": "message", "id": "m", "type": "PAY", "payload": null}, "variables": {"by": "Ada"},
            "microsteps": [{"event": "PAY", "exited": ["open"], "entered": ["paid"]}],
        });
        assert_eq!(
            happened(&from_value(entry).unwrap()),
            "2026-01-31 12:00:00Z  3  message PAY, left open, entered paid, changed by"
        );
    }

    #[test]
    fn an_entry_of_a_kind_that_is_not_known_is_shown_by_its_word() {
        let entry = json!({"sequence": 3, "at": "2026-01-31T12:00:00.000Z", "kind": "forked", "into": "x"});
        assert_eq!(happened(&from_value(entry).unwrap()), "2026-01-31 12:00:00Z  3  forked");
    }

    #[test]
    fn what_others_wrote_stays_on_its_line() {
        let execution = json!({
            "id": "exe_01arz3ndektsv4rrffq69g5fav", "key": null, "machine": "m", "version": 1, "status": "completed",
            "configuration": [], "variables": {}, "tags": [], "waiting": {"state": "done"}, "sequence": 1,
            "createdAt": "2026-01-31T12:00:00.000Z", "updatedAt": "2026-01-31T12:00:00.000Z", "output": "a\u{1b}[31m\nb",
        });
        let sentence = stands(&from_value(execution).unwrap());
        assert!(!sentence.contains(['\n', '\u{1b}']), "{sentence:?}");
    }
}
