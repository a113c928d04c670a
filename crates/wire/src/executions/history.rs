//! The history of an execution.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{self, ActionError};
use sprag_core::machine::{self, End, How, TimerKey};
use sprag_core::time::Timestamp;

use crate::values::words::words;

/// One entry of an execution's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// The sequence number: from 1, without gaps.
    #[schemars(range(min = 1))]
    pub sequence: u64,
    /// The time of the entry.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// The content of a history entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum What {
    /// A macrostep.
    Step {
        /// The cause of the macrostep.
        cause: Cause,
        /// Whether a transition handled the event.
        handled: bool,
        /// The transitions, in order.
        microsteps: Vec<Microstep>,
        /// The variables that changed.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        variables: Map<String, Value>,
        /// The variables of the start request.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        given: Map<String, Value>,
    },
    /// A decision failed, and Sprag discarded it.
    Refused {
        /// The cause of the decision.
        cause: Cause,
        /// Why the decision failed.
        error: String,
    },
    /// A decision on a timer or the end of an action failed, so the execution has the status `failed`.
    Stuck {
        /// The cause of the decision.
        cause: Cause,
        /// Why the decision failed.
        error: String,
    },
    /// A person paused the execution.
    Paused,
    /// A person resumed the execution.
    Resumed,
    /// A person cancelled the execution.
    Cancelled,
    /// A snapshot of the execution. A replay can start here.
    Snapshot {
        /// The active states and visits.
        place: Map<String, Value>,
        /// The number of triggers of each action.
        triggered: BTreeMap<String, u64>,
        /// The variables.
        variables: Map<String, Value>,
        /// The results of actions.
        results: Map<String, Value>,
        /// The last message.
        message: Option<Map<String, Value>>,
    },
    /// The execution migrated to another version.
    Migrated {
        /// The old version.
        #[schemars(range(min = 1))]
        from: u32,
        /// The new version.
        #[schemars(range(min = 1))]
        to: u32,
        /// The active states and visits in the new version.
        moved: Map<String, Value>,
    },
    /// A kind that this version does not know.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(Map<String, Value>),
}

impl What {
    /// Whether it names no states of the machine, and so is stored as it is shown. A kind that changes no state needs nothing
    /// else: the command line shows its name and its texts.
    pub fn is_plain(&self) -> bool {
        let names_states = matches!(
            self,
            Self::Step { .. }
                | Self::Refused { .. }
                | Self::Stuck { .. }
                | Self::Snapshot { .. }
                | Self::Migrated { .. }
        );
        !names_states && !matches!(self, Self::Other(_))
    }
}

/// One transition of a macrostep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Microstep {
    /// The event of the transition; null for a transition without an event.
    pub event: Option<String>,
    /// The states that the execution left.
    pub exited: Vec<String>,
    /// The states that the execution entered.
    pub entered: Vec<String>,
}

/// The cause of a macrostep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// The start of the execution.
    Start,
    /// A message.
    Message {
        /// The id of the message.
        id: String,
        /// The type of the message.
        #[serde(rename = "type")]
        kind: String,
        /// The payload of the message.
        payload: Value,
    },
    /// A timer.
    Timer {
        /// The visit of the state that set the timer.
        visit: u64,
        /// The index of the timer in its state.
        index: u64,
    },
    /// The end of an action.
    Ended {
        /// The `actionId` in the machine.
        action_id: String,
        /// The number of the occurrence of the action.
        ordinal: u64,
        /// How the action ended.
        how: Ended,
        /// The event that the runner derived from the result.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        event: Map<String, Value>,
        /// The result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// The error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<ActionError>>,
    },
    /// An occurrence of a schedule.
    Occurrence {
        /// The `actionId` that the schedule triggers.
        action: String,
        /// The visit of the state that started the schedule.
        visit: u64,
        /// The scheduled time in milliseconds since 1970.
        nominal: i64,
    },
    /// A cause that this version does not know.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

impl From<machine::Cause> for Cause {
    fn from(cause: machine::Cause) -> Self {
        match cause {
            machine::Cause::Start => Self::Start,
            machine::Cause::Message(message) => {
                let machine::Message { id, kind, payload } = Arc::unwrap_or_clone(message);
                Self::Message { id, kind, payload }
            }
            machine::Cause::Timer(TimerKey { visit, index }) => Self::Timer {
                visit,
                index: u64::from(index),
            },
            machine::Cause::Ended(end) => end.into(),
            machine::Cause::Occurrence { action, visit, nominal } => Self::Occurrence {
                action,
                visit,
                nominal: nominal.as_millis(),
            },
        }
    }
}

impl From<End> for Cause {
    fn from(end: End) -> Self {
        let End {
            action_id,
            ordinal,
            how,
            event,
            result,
            error,
        } = end;
        let event = event.map(|action::ResultEvent { kind, payload }| {
            Map::from_iter([
                ("type".to_owned(), Value::String(kind)),
                ("payload".to_owned(), payload),
            ])
        });
        Self::Ended {
            action_id,
            ordinal,
            how: how.into(),
            event: event.unwrap_or_default(),
            result: Some(result).filter(|result| !result.is_null()),
            error: error.map(Box::new),
        }
    }
}

words! {
    /// How an action ended, as the machine received it.
    Ended from How {
        /// The action succeeded.
        Done = "done",
        /// The action is dead or cancelled.
        Failed = "failed",
        /// The action was skipped.
        Skipped = "skipped",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn entry(what: &Value) -> HistoryEntry {
        let mut entry = json!({"sequence": 1, "at": "2026-01-31T12:00:00.000Z"});
        entry.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let read: HistoryEntry = from_value(entry.clone()).unwrap();
        assert_eq!(json!(read), entry);
        read
    }

    #[test]
    fn an_entry_is_read_and_written_as_it_was() {
        let error = json!({"type": "timeout", "message": "no answer", "retryable": false});
        let cause = json!({"cause": "ended", "actionId": "a", "ordinal": 1, "how": "failed", "error": error});
        let read = entry(&json!({"kind": "stuck", "cause": cause, "error": "a guard failed"}));
        assert!(matches!(
            read.what,
            What::Stuck {
                cause: Cause::Ended { how: Ended::Failed, .. },
                ..
            }
        ));
        assert_eq!(entry(&json!({"kind": "paused"})).what, What::Paused);
    }

    #[test]
    fn an_entry_of_an_unknown_kind_is_kept_as_it_is() {
        let read = entry(&json!({"kind": "forked", "into": ["a", "b"]}));
        assert!(matches!(read.what, What::Other(members) if members["kind"] == "forked"));
    }
}
