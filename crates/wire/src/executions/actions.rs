//! Actions with their attempts, and the queues in which they wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::{self, ActionError};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_core::machine;
use sprag_core::time::Timestamp;

use crate::values::words::words;
use crate::{Lease, Waiting};

words! {
    /// The status of an action.
    ActionStatus from action::Status {
        /// It is not due yet.
        Scheduled = "scheduled",
        /// It is due and waits, for example for a limit.
        Queued = "queued",
        /// An attempt is running.
        Running = "running",
        /// An attempt failed, and the next attempt has a due time.
        Retrying = "retrying",
        /// It succeeded.
        Succeeded = "succeeded",
        /// A dead letter: a person must settle it.
        Dead = "dead",
        /// It was cancelled before it succeeded.
        Cancelled = "cancelled",
        /// Its condition was false, it is disabled, or its occurrence overlapped another.
        Skipped = "skipped",
        /// A dead letter that a person archived.
        Archived = "archived",
    }
}

words! {
    /// The outcome of an attempt.
    Outcome from action::Verdict {
        /// The effect happened.
        Done = "done",
        /// The effect certainly did not happen.
        NotDone = "notDone",
        /// The effect may have happened.
        Unknown = "unknown",
    }
}

words! {
    /// Why an action was skipped.
    SkipReason from machine::SkipReason {
        /// The definition has `enabled: false`.
        Disabled = "disabled",
        /// Its condition was false.
        Condition = "condition",
        /// The previous occurrence of its schedule was still open.
        Overlap = "overlap",
    }
}

words! {
    /// A remark about the end of an action.
    Remark from action::Remark {
        /// The action succeeded before the cancellation had an effect.
        CancelCameTooLate = "cancelCameTooLate",
        /// The action was triggered again, so the machine did not receive its end.
        Superseded = "superseded",
        /// The execution was closed, so the machine did not receive its end.
        ExecutionClosed = "executionClosed",
    }
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Action {
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
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// Whether it succeeded; null for an open or skipped action.
    pub success: Option<bool>,
    /// Milliseconds from the start of the first recorded attempt to the end of the last; null if no attempt has ended.
    pub duration: Option<u64>,
    /// The result.
    #[serde(default)]
    pub result: Option<Value>,
    /// The events that the runner derived from the result.
    #[serde(default)]
    pub result_events: Vec<ResultEvent>,
    /// The error of the last failed attempt.
    pub last_error: Option<ActionError>,
    /// The id of the execution.
    pub execution_id: ExecutionId,
    /// The name of the machine.
    pub machine: String,
    /// The machine version that defines the action.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// What triggered the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<ActionTrigger>,
    /// The runner of the action.
    pub runner: String,
    /// Tags for filters.
    pub tags: Vec<String>,
    /// The priority, 0 to 100; higher starts first.
    #[schemars(range(min = 0, max = 100))]
    pub priority: u8,
    /// The time of the trigger.
    pub created_at: Timestamp,
    /// The time when it is due or last became due.
    pub run_at: Timestamp,
    /// The time when it became a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<Timestamp>,
    /// The fingerprint: the same for similar dead letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The cost of all attempts, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_estimate: Option<f64>,
    /// The idempotency key: the same for every attempt, until a person edits the configuration.
    pub idempotency_key: String,
    /// The configuration, rendered at the trigger. Templates with secrets stay templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub config: Option<Value>,
    /// Whether a person cancelled the action while an attempt was running.
    pub cancel_requested: bool,
    /// The reason why the action was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// A remark about the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
}

/// What triggered an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionTrigger {
    /// The sequence of the history entry of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub step: Option<u64>,
    /// The state that the step entered, or whose schedule was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The number of the visit of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
}

/// An action of a list: whole, or its summary with `view=summary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ListedAction {
    /// The action.
    Whole(Box<Action>),
    /// The summary.
    Summary(Box<ActionSummary>),
}

/// An action without attempts, results and configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionSummary {
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
    /// The number of attempts.
    pub attempt_count: usize,
    /// The error of the last failed attempt.
    pub last_error: Option<ErrorSummary>,
    /// The id of the execution.
    pub execution_id: ExecutionId,
    /// The name of the machine.
    pub machine: String,
    /// The machine version that defines the action.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// What triggered the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<ActionTrigger>,
    /// The priority, 0 to 100; higher starts first.
    #[schemars(range(min = 0, max = 100))]
    pub priority: u8,
    /// The time of the trigger.
    pub created_at: Timestamp,
    /// The time when it is due or last became due.
    pub run_at: Timestamp,
    /// The time when it became a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died_at: Option<Timestamp>,
    /// The fingerprint: the same for similar dead letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl From<Action> for ActionSummary {
    fn from(action: Action) -> Self {
        Self {
            id: action.id,
            action_id: action.action_id,
            kind: action.kind,
            status: action.status,
            waiting: action.waiting,
            attempt_count: action.attempts.len(),
            last_error: action.last_error.map(ErrorSummary::from),
            execution_id: action.execution_id,
            machine: action.machine,
            version: action.version,
            trigger: action.trigger,
            priority: action.priority,
            created_at: action.created_at,
            run_at: action.run_at,
            died_at: action.died_at,
            fingerprint: action.fingerprint,
        }
    }
}

/// An error without its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSummary {
    /// The error type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The message, cut after 300 characters.
    #[schemars(length(max = 301))]
    pub message: String,
}

/// The most characters of a message in a summary.
const MESSAGE_CHARACTERS_MAX: usize = 300;

impl From<ActionError> for ErrorSummary {
    fn from(error: ActionError) -> Self {
        let ActionError { kind, message, .. } = error;
        Self {
            kind,
            message: shortened(&message),
        }
    }
}

/// A text, cut with `…` if it is long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// One attempt of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The id of the attempt.
    pub id: AttemptId,
    /// The number of the attempt, from 1.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// The time when Sprag committed the attempt, before its effect began.
    pub start_time: Timestamp,
    /// The time when Sprag committed the outcome.
    pub end_time: Option<Timestamp>,
    /// The duration in milliseconds; null while it runs.
    pub duration: Option<u64>,
    /// The outcome; null while it runs.
    pub outcome: Option<Outcome>,
    /// Whether it succeeded; null while it runs.
    pub success: Option<bool>,
    /// The error, if the attempt failed.
    pub error: Option<ActionError>,
    /// The cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The lease of the external runner that runs the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The metadata that the runner reported.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An event that a runner derived from its result, as the machine received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultEvent {
    /// The type of the event, such as `email_sent` or `webhook_called`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The payload of the event.
    pub payload: Value,
    /// Always `action_runner`.
    #[schemars(extend("const" = "action_runner"))]
    pub source: String,
    /// The time when the attempt ended.
    pub timestamp: Timestamp,
}

/// The queues of waiting actions, and the totals by type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// The queues. A queue holds actions of one type, with the same limits and the same destination.
    pub data: Vec<QueueLine>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// The totals by action type.
    pub types: Vec<QueuedType>,
    /// Queued actions that wait for a paused execution or a kill switch.
    pub held: QueueDepth,
}

/// The number of waiting actions, and their age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueDepth {
    /// The number of queued actions.
    pub ready: u64,
    /// The time when the oldest of them became due.
    pub oldest_ready_at: Option<Timestamp>,
    /// The age of the oldest, in milliseconds.
    pub oldest_age: Option<u64>,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Line")]
pub struct QueueLine {
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The external runner of its actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The limit keys of its actions.
    pub limits: Vec<String>,
    /// The destination of its actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The number of waiting actions.
    #[serde(flatten)]
    pub depth: QueueDepth,
    /// The number of running attempts of the type on this node.
    pub running: usize,
    /// What its actions wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// The totals of one action type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedType {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of waiting actions.
    #[serde(flatten)]
    pub depth: QueueDepth,
    /// The number of running attempts on this node.
    pub running: usize,
    /// The number of attempts that started on this node in the last 60 seconds.
    pub started_last_minute: u64,
}
