//! Actions with their attempts, and the queue they wait in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{self, ActionError};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_core::machine;
use sprag_core::time::Timestamp;

use crate::words::words;
use crate::{Lease, Waiting};

words! {
    /// How an action stands.
    ActionStatus from action::Status {
        /// Not yet due.
        Scheduled = "scheduled",
        /// Due; it waits for a permit.
        Queued = "queued",
        /// An attempt is under way.
        Running = "running",
        /// An attempt failed; the next one has a due time.
        Retrying = "retrying",
        /// Done.
        Succeeded = "succeeded",
        /// A dead letter, waiting for a person.
        Dead = "dead",
        /// Ended before it succeeded.
        Cancelled = "cancelled",
        /// Its condition was false, or it is disabled.
        Skipped = "skipped",
        /// A dead letter that a person put away.
        Archived = "archived",
    }
}

words! {
    /// How an attempt ended.
    Outcome from action::Verdict {
        /// The effect happened.
        Done = "done",
        /// It certainly did not happen.
        NotDone = "notDone",
        /// It is unknown whether it happened.
        Unknown = "unknown",
    }
}

words! {
    /// Why an action was skipped.
    SkipReason from machine::SkipReason {
        /// `enabled: false`.
        Disabled = "disabled",
        /// Its condition was false.
        Condition = "condition",
        /// The last occurrence of its schedule had not ended.
        Overlap = "overlap",
    }
}

words! {
    /// Something to know about how an action ended.
    Remark from action::Remark {
        /// It was done before the cancellation reached it.
        CancelCameTooLate = "cancelCameTooLate",
        /// A later trigger of the same action id exists: the machine did not receive its end.
        Superseded = "superseded",
        /// Its execution was closed: the machine did not receive its end.
        ExecutionClosed = "executionClosed",
    }
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Its id.
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
    /// Its attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// Whether it succeeded; null while it is open, and for one that was skipped.
    pub success: Option<bool>,
    /// Milliseconds from the start of its first recorded attempt to the end of the last; null without one that ended.
    pub duration: Option<u64>,
    /// What came back.
    #[serde(default)]
    pub result: Option<Value>,
    /// The events that its runner made of the result.
    #[serde(default)]
    pub result_events: Vec<ResultEvent>,
    /// Why it last failed.
    pub last_error: Option<ActionError>,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// The version whose definition holds.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// Which runner performs it.
    pub runner: String,
    /// Tags for filters.
    pub tags: Vec<String>,
    /// 0–100, higher first.
    #[schemars(range(min = 0, max = 100))]
    pub priority: u8,
    /// When it was triggered.
    pub created_at: Timestamp,
    /// When it is due, or was last made ready.
    pub run_at: Timestamp,
    /// When it became a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<Timestamp>,
    /// Equal for dead letters that failed alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What its attempts cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_estimate: Option<f64>,
    /// The same for every attempt until a person edits the configuration.
    pub idempotency_key: String,
    /// The configuration as it was frozen: templates that name secrets stay templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub config: Option<Value>,
    /// A person asked for it to end.
    pub cancel_requested: bool,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Something to know about how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
}

/// One attempt of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// From 1.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// When it was committed, before its effect began.
    pub start_time: Timestamp,
    /// When its outcome was committed.
    pub end_time: Option<Timestamp>,
    /// How long it took, in milliseconds; null while it runs.
    pub duration: Option<u64>,
    /// How it ended; null while it runs.
    pub outcome: Option<Outcome>,
    /// Whether it succeeded; null while it runs.
    pub success: Option<bool>,
    /// Why it did not succeed.
    pub error: Option<ActionError>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The lease of the external runner that performs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// What its runner reported beside the result.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An event that a runner made of its result, as the machine received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultEvent {
    /// `email_sent`, `webhook_called`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// What the event carries.
    pub payload: Value,
    /// Always `action_runner`.
    #[schemars(extend("const" = "action_runner"))]
    pub source: String,
    /// When the attempt that made it ended.
    pub timestamp: Timestamp,
}

/// The queue: its lines, with the sums of their types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// The lines: actions of one type, under the same limits, for the same destination.
    pub data: Vec<QueueLine>,
    /// Where the lines continue; null on the last page.
    pub next_cursor: Option<String>,
    /// The action types.
    pub types: Vec<QueuedType>,
    /// Queued actions that a paused execution or a kill switch holds.
    pub held: QueueDepth,
}

/// How much waits, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueDepth {
    /// How many actions are queued.
    pub ready: u64,
    /// When the oldest of them became ready.
    pub oldest_ready_at: Option<Timestamp>,
    /// How long ago that is, in milliseconds.
    pub oldest_age: Option<u64>,
}

/// One line of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Line")]
pub struct QueueLine {
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The external runner it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The keys that limit it.
    pub limits: Vec<String>,
    /// Where its actions go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// How much waits.
    #[serde(flatten)]
    pub depth: QueueDepth,
    /// How many attempts of the type are under way on this node.
    pub running: usize,
    /// What holds it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// One action type of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedType {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How much waits.
    #[serde(flatten)]
    pub depth: QueueDepth,
    /// How many attempts are under way on this node.
    pub running: usize,
    /// How many attempts started on this node in the last 60 seconds.
    pub started_last_minute: u64,
}
