//! What happened to an execution.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{self, ActionError};
use sprag_core::machine::{self, End, How, TimerKey};
use sprag_core::time::Timestamp;

use crate::words::words;

/// One entry of an execution's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// Dense, from 1.
    #[schemars(range(min = 1))]
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What a history entry is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum What {
    /// A macrostep.
    Step {
        /// What caused it.
        cause: Cause,
        /// Whether a transition answered.
        handled: bool,
        /// The transitions, in order.
        microsteps: Vec<Microstep>,
        /// The variables that changed.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        variables: Map<String, Value>,
        /// What a start gave.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        given: Map<String, Value>,
    },
    /// A decision failed and nothing changed.
    Refused {
        /// What caused it.
        cause: Cause,
        /// Why it failed.
        error: String,
    },
    /// A decision failed that cannot be refused: the execution has failed.
    Stuck {
        /// What caused it.
        cause: Cause,
        /// Why it failed.
        error: String,
    },
    /// A person paused it.
    Paused,
    /// A person resumed it.
    Resumed,
    /// A person ended it.
    Cancelled,
    /// Everything as of here, so that replay can begin here.
    Snapshot {
        /// The active states and visits.
        place: Map<String, Value>,
        /// How often each action was triggered.
        triggered: BTreeMap<String, u64>,
        /// The variables.
        variables: Map<String, Value>,
        /// The results of actions.
        results: Map<String, Value>,
        /// The message that is handled last.
        message: Option<Map<String, Value>>,
    },
    /// It moved to another version.
    Migrated {
        /// The version before.
        #[schemars(range(min = 1))]
        from: u32,
        /// The version since.
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

/// One transition of a macrostep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Microstep {
    /// The event that it answered; null for one without.
    pub event: Option<String>,
    /// The states it left.
    pub exited: Vec<String>,
    /// The states it entered.
    pub entered: Vec<String>,
}

/// What caused a macrostep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// The start.
    Start,
    /// A message.
    Message {
        /// Its id.
        id: String,
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// What it carried.
        payload: Value,
    },
    /// A timer.
    Timer {
        /// The visit it belongs to.
        visit: u64,
        /// Which of the state's timers.
        index: u64,
    },
    /// The end of an action.
    Ended {
        /// What the machine calls the action.
        action_id: String,
        /// Which occurrence of it.
        ordinal: u64,
        /// How it ended.
        how: Ended,
        /// The event that its runner made of the result.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        event: Map<String, Value>,
        /// What came back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<ActionError>>,
    },
    /// A schedule.
    Occurrence {
        /// The action it triggers.
        action: String,
        /// The visit it belongs to.
        visit: u64,
        /// Milliseconds since 1970.
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
    /// How an action ended, as the machine was fed it.
    Ended from How {
        /// It succeeded.
        Done = "done",
        /// It is dead or cancelled.
        Failed = "failed",
        /// It was skipped.
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
