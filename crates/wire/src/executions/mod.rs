//! Executions: starts, messages, status, migration, replay.

mod actions;
mod history;
mod summary;
mod waiting;

pub use actions::*;
pub use history::*;
pub use summary::*;
pub use waiting::*;

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::document::patch::Operation;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;

use crate::Body;
use crate::values::words::words;

/// The body of a start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartRequest")]
pub struct Start {
    /// The machine's name.
    pub machine: String,
    /// The version to run. Default: the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// The key. At most one open execution of a machine has a given key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
    /// The start values of variables.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub variables: Map<String, Value>,
    /// Tags for filters.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>", inner(length(min = 1, max = 512)))]
    pub tags: Vec<String>,
}

impl Body for Start {
    const CHECKS_LENGTHS: bool = false;
}

/// A member that may be null: that means none.
fn or_none<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A message to an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The type of the message. Transitions match it.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 512))]
    pub kind: String,
    /// The payload.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub payload: Value,
    /// The id of the message. A repeat with the same id gets the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub id: Option<String>,
}

impl Body for Message {
    const CHECKS_LENGTHS: bool = false;
}

/// A message to the open execution of a machine with a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressedMessage {
    /// The name of the machine.
    pub machine: String,
    /// The key of the execution.
    pub key: String,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

impl Body for AddressedMessage {
    const CHECKS_LENGTHS: bool = false;
}

/// The body of a migration to another version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrateRequest {
    /// The version to migrate to. Default: the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// The new path of each renamed state, by its old path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<BTreeMap<String, String>>,
    /// With `true`, Sprag only reports what the migration would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
}

impl Body for MigrateRequest {}

/// A body without fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Nothing {}

words! {
    /// The status of an execution.
    ExecutionStatus {
        /// It accepts events.
        Running = "running",
        /// A person paused it.
        Paused = "paused",
        /// It reached a final state.
        Completed = "completed",
        /// A decision failed, and a person must fix the cause.
        Failed = "failed",
        /// A person cancelled it.
        Cancelled = "cancelled",
    }
}

impl Body for Nothing {}

/// An execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The key.
    pub key: Option<String>,
    /// The name of the machine.
    pub machine: String,
    /// The version of the machine.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The status.
    pub status: ExecutionStatus,
    /// The paths of the active atomic and final states, sorted.
    pub configuration: Vec<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// Tags for filters.
    pub tags: Vec<String>,
    /// What the execution waits for.
    pub waiting: Waiting,
    /// The sequence of the newest history entry.
    pub sequence: u64,
    /// The time of the start.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The output, if the execution is completed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why the last decision failed, if the status is `failed`.
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
    /// The message waits in the inbox of a paused or failed execution.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    pub queued: bool,
    /// Whether a transition handled the message.
    pub handled: bool,
    /// The active states after the message.
    pub configuration: Vec<String>,
    /// The sequence of the message's history entry.
    pub sequence: u64,
    /// The message types that the active states accept, if no transition handled the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
}

/// What an execution waits for, with its open actions and dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The status.
    pub status: ExecutionStatus,
    /// What the execution waits for.
    pub waiting: Waiting,
    /// Why the last decision failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The open actions and dead letters.
    pub actions: Vec<ExplainedAction>,
}

/// An open action or a dead letter, and what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedAction {
    /// The id of the action.
    pub id: ActionId,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status.
    pub status: ActionStatus,
    /// What the action waits for.
    pub waiting: Waiting,
    /// The error of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ActionError>,
    /// For a dead letter: whether a retry of the unchanged action can succeed after a person fixed the outside cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// For a dead letter: whether a person must check before a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manual_review_required: Option<bool>,
    /// For a dead letter: the suggested fix, or null.
    #[serde(default, deserialize_with = "maybe_null", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_null")]
    pub suggested_fix: Option<Option<String>>,
    /// The suggested fix as a JSON Patch for a retry, if changing the action is enough.
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

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The number of replayed macrosteps.
    pub steps: u64,
    /// Whether the replayed state equals the stored state.
    pub agrees: bool,
    /// The first difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
}

/// The answer to a migration: the execution, or the result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Migrated {
    /// The migrated execution.
    Moved(Box<Execution>),
    /// The result of the check.
    Checked(MigrationCheck),
}

/// What a migration to another version would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationCheck {
    /// Whether the migration is possible now.
    pub possible: bool,
    /// The current version.
    #[schemars(range(min = 1))]
    pub from: u32,
    /// The other version.
    #[schemars(range(min = 1))]
    pub to: u32,
    /// The active states and their new paths.
    pub states: Vec<StateMove>,
    /// The timers that exist or would exist.
    pub timers: Vec<TimerMove>,
    /// Why the migration is not possible.
    pub problems: Vec<MigrationProblem>,
    /// The number of macrosteps that Sprag replayed with the other version; 0 if the migration is not possible.
    pub replayed: u64,
    /// The first difference between the replay and the history; null if there is none.
    pub divergence: Option<Divergence>,
}

/// A difference between a replay with another version and the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Divergence {
    /// The sequence of the history entry.
    pub sequence: u64,
    /// What differs.
    pub detail: String,
}

/// An active state before and after a migration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateMove {
    /// The path in the current version; null for a new parent state.
    pub from: Option<String>,
    /// The path in the other version; null if the other version does not have the state.
    pub to: Option<String>,
}

/// What a migration would do to a timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerMove {
    /// The change.
    pub change: TimerChange,
    /// The state of the timer.
    pub state: String,
    /// For an `after`: its duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// For a schedule: the `actionId` that it triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The time when the timer is or would be due.
    pub due_at: Timestamp,
}

words! {
    /// What a migration would do to a timer.
    TimerChange {
        /// The timer stays.
        Kept = "kept",
        /// The timer would be removed.
        Dropped = "dropped",
        /// The timer would be new.
        Added = "added",
    }
}

/// A reason why a migration is not possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationProblem {
    /// A JSON pointer to the field of the request that can fix it.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
}
