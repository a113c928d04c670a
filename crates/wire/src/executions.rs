//! Executions: starting them, sending them messages, and how they stand.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::patch::Operation;
use sprag_core::time::Timestamp;

use crate::words::words;
use crate::{ActionStatus, Waiting};

/// The body of a start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartRequest")]
pub struct Start {
    /// The machine's name.
    pub machine: String,
    /// The version to run; the newest unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// A business key. One open execution of a machine holds a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
    /// The first values of variables.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub variables: Map<String, Value>,
    /// Tags for filters.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>", inner(length(min = 1, max = 512)))]
    pub tags: Vec<String>,
}

/// A member that may be null: that means none.
fn or_none<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A message to an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its type, which transitions name.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 512))]
    pub kind: String,
    /// What it carries.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub payload: Value,
    /// A message with an id that the execution has seen is not taken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub id: Option<String>,
}

/// A message to the open execution of a machine with a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressedMessage {
    /// The machine's name.
    pub machine: String,
    /// The execution's key.
    pub key: String,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// The body of a move to another version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrateRequest {
    /// The version to move to; the newest unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// Which active state becomes which, where the names differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<BTreeMap<String, String>>,
    /// Only report what the move would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
}

/// A body without members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Nothing {}

words! {
    /// How an execution stands.
    ExecutionStatus {
        /// It takes events.
        Running = "running",
        /// A person holds it.
        Paused = "paused",
        /// It reached its end.
        Completed = "completed",
        /// A decision failed; a person must fix the cause.
        Failed = "failed",
        /// A person ended it.
        Cancelled = "cancelled",
    }
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// Its id.
    pub id: ExecutionId,
    /// Its business key.
    pub key: Option<String>,
    /// The machine's name.
    pub machine: String,
    /// The version it runs.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// How it stands.
    pub status: ExecutionStatus,
    /// The active atomic and final states as dotted paths, sorted.
    pub configuration: Vec<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// Tags for filters.
    pub tags: Vec<String>,
    /// Why it does not move.
    pub waiting: Waiting,
    /// The sequence of its newest history entry.
    pub sequence: u64,
    /// When it started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Its output, once completed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why its last decision failed, while its status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Execution {
    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        !matches!(self.status, ExecutionStatus::Completed | ExecutionStatus::Cancelled)
    }
}

/// A value that is there, even if it is null.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The result of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// It waits in the inbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    pub queued: bool,
    /// Whether a transition answered it.
    pub handled: bool,
    /// The active states afterwards.
    pub configuration: Vec<String>,
    /// The sequence of its history entry.
    pub sequence: u64,
    /// The message types that the active states accept, where no transition answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
}

/// Why an execution does not move, with its open actions and dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The execution.
    pub id: ExecutionId,
    /// How it stands.
    pub status: ExecutionStatus,
    /// Why it does not move.
    pub waiting: Waiting,
    /// Why its last decision failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its open actions and dead letters.
    pub actions: Vec<ExplainedAction>,
}

/// An open action or a dead letter, with why it does not move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedAction {
    /// The action.
    pub id: ActionId,
    /// What the machine calls it.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stands.
    pub status: ActionStatus,
    /// Why it does not move.
    pub waiting: Waiting,
    /// Why its last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ActionError>,
    /// Of a dead letter: a retry as it is can succeed, once what is wrong outside of the action is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// Of a dead letter: a person must check before it is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manual_review_required: Option<bool>,
    /// Of a dead letter: what would fix it, or null.
    #[serde(default, deserialize_with = "maybe_null", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_null")]
    pub suggested_fix: Option<Option<String>>,
    /// The same as a JSON Patch for a retry, where a change of the action alone is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_patch: Vec<Operation>,
}

/// Unlike other members that may be missing, this one may also be null.
fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string" }, { "type": "null" }] })
}

/// A text that is there, even if it is null.
#[expect(
    clippy::option_option,
    reason = "a member that is missing and one that is null say different things"
)]
fn maybe_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// Macrosteps taken again.
    pub steps: u64,
    /// Whether the end is what is stored.
    pub agrees: bool,
    /// Where it first differed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
}

/// The answer to a migration: the execution, or what a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Migrated {
    /// The execution as it is now.
    Moved(Box<Execution>),
    /// The check.
    Checked(MigrationCheck),
}

/// What a move to another version would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationCheck {
    /// Whether it is possible now.
    pub possible: bool,
    /// The present version.
    #[schemars(range(min = 1))]
    pub from: u32,
    /// The other one.
    #[schemars(range(min = 1))]
    pub to: u32,
    /// Every active state, with what it would become.
    pub states: Vec<StateMove>,
    /// Every timer that exists or would exist.
    pub timers: Vec<TimerMove>,
    /// Why it is not possible.
    pub problems: Vec<MigrationProblem>,
    /// How many of its macrosteps were taken again with the other version; 0 where the move is not possible.
    pub replayed: u64,
    /// Where the other version would first have led elsewhere; null where it would not.
    pub divergence: Option<Divergence>,
}

/// Where another version would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Divergence {
    /// The history entry.
    pub sequence: u64,
    /// What would have been different.
    pub detail: String,
}

/// What an active state would become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateMove {
    /// Its path in the present version; null for a state that would be entered around others.
    pub from: Option<String>,
    /// Its path in the other one; null where there is no counterpart.
    pub to: Option<String>,
}

/// What a timer would become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerMove {
    /// What would happen to it.
    pub change: TimerChange,
    /// The state it belongs to.
    pub state: String,
    /// For an `after`: its duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// For a schedule: the action it triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// When it is or would be due.
    pub due_at: Timestamp,
}

words! {
    /// What would happen to a timer.
    TimerChange {
        /// It stays.
        Kept = "kept",
        /// It would never fire.
        Dropped = "dropped",
        /// It would be new.
        Added = "added",
    }
}

/// Why a move is not possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationProblem {
    /// The place in the request that would fix it, as a JSON pointer.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
}
