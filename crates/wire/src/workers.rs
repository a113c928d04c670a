//! Supervised workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::time::Timestamp;

use crate::executions::given;
use crate::values::words::words;

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// The path of the worker in the tree.
    pub path: String,
    /// The state of the worker.
    pub state: String,
    /// The reason of the state.
    pub reason: String,
    /// The id of its process.
    #[schemars(range(min = 1))]
    pub pid: Option<i64>,
    /// The number of restarts.
    pub restarts: u64,
    /// The state of its circuit breaker.
    pub circuit: String,
    /// `fresh`, `stale`, or `failing: why`.
    pub observation: String,
    /// What it waits for.
    pub waiting: Option<String>,
    /// The time since when it is in this state.
    pub since: Timestamp,
    /// The rules that restart it.
    pub restarted_by: Vec<WorkerRule>,
}

/// A restart rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerRule {
    /// The name of the rule.
    pub name: String,
    /// The parent whose children the rule observes; `/` for the supervisor itself.
    pub supervisor: String,
    /// The child that the rule restarts.
    pub restart: String,
    /// The children that a restart affects.
    pub affects: Vec<String>,
    /// The state of its circuit breaker.
    pub circuit: String,
    /// The number of detections within the window.
    pub detections: usize,
    /// The rule escalates after this many detections within the window.
    pub detections_max: usize,
    /// The window, in milliseconds.
    pub window_millis: u64,
    /// The result of the last check.
    pub last_check: Option<String>,
    /// The time of the last check.
    pub checked_at: Option<Timestamp>,
    /// What the check found, or why it could not decide.
    pub reason: Option<String>,
    /// The cause, if the last check was bad or the rule gave up.
    pub cause: Option<String>,
    /// Why the rule gave up, if it did.
    pub gave_up: Option<String>,
    /// The time when the rule gave up.
    pub gave_up_at: Option<Timestamp>,
    /// The next step.
    pub next: String,
    /// The time of the next step, if known.
    pub next_at: Option<Timestamp>,
}

words! {
    /// The goal of a worker.
    Goal {
        /// It should run.
        Running = "running",
        /// It should exist and not run.
        Stopped = "stopped",
        /// It should stop and be removed.
        Removed = "removed",
    }
}

/// The state of a worker, its reason, and the next step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerExplanation {
    /// The worker.
    #[serde(flatten)]
    pub worker: Worker,
    /// The goal.
    pub goal: Goal,
    /// What the worker waits for.
    pub holds: Vec<WorkerHold>,
    /// The rules over its children.
    pub rules: Vec<WorkerRule>,
    /// Children that the supervisor gave up on.
    pub escalations: Vec<WorkerEscalation>,
    /// Errors in the declarations of its children.
    pub child_errors: Vec<String>,
    /// The number of its children by health.
    pub children: WorkerCounts,
    /// The last action of the worker.
    pub action: LastAction,
    /// The last observation.
    pub observed: Value,
    /// The runbook for its circuit breaker.
    pub runbook: Option<String>,
}

/// A reason why a worker waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerHold {
    /// What the worker waits for.
    pub what: String,
    /// The time since when.
    pub since: Timestamp,
    /// The next step.
    pub next: String,
    /// The time of the next step, if known.
    pub at: Option<Timestamp>,
    /// The time when the supervisor gives up, if it does.
    pub gives_up: Option<Timestamp>,
    /// What you can do.
    pub remedy: String,
}

/// A child that a supervisor gave up on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerEscalation {
    /// The name of the child.
    pub child: String,
    /// The cause.
    pub cause: String,
    /// The time since when.
    pub since: Timestamp,
}

/// The number of workers by health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCounts {
    /// The number of workers that run.
    pub healthy: usize,
    /// The number of workers that should run, but do not run or are degraded.
    pub unhealthy: usize,
    /// The number of stopped workers.
    pub stopped: usize,
}

/// The last action of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkerAction")]
pub struct LastAction {
    /// The id of the action; it grows with every action.
    pub id: u64,
    /// The name of the action.
    pub name: String,
    /// The generation of the worker.
    pub generation: u64,
    /// The time when the action started.
    pub started: Option<Timestamp>,
    /// The number of the attempt.
    pub attempt: u32,
    /// The outcome.
    pub outcome: LastOutcome,
    /// The error.
    pub error: Option<String>,
}

/// How the last action of a worker ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum LastOutcome {
    /// The worker has had no action.
    None,
    /// The action is running.
    InProgress,
    /// The action succeeded.
    Succeeded,
    /// The outcome is unknown.
    Unknown,
    /// The action failed.
    Failed {
        /// The error type.
        class: String,
    },
}

/// The changes since a cursor, or all workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerDeltas {
    /// The changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deltas: Option<Vec<WorkerDelta>>,
    /// All workers, if you sent no cursor or an expired one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub everything: Option<Vec<WorkerRemembered>>,
    /// The cursor to continue with.
    pub cursor: String,
    /// Whether there are more changes.
    pub has_more: bool,
}

/// A change of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDelta {
    /// The id of the change: one more than that of the previous change.
    #[schemars(range(min = 1))]
    pub id: u64,
    /// The time of the change.
    pub at: Timestamp,
    /// The path of the worker.
    pub worker: String,
    /// The kind of change.
    #[serde(rename = "type")]
    pub kind: DeltaKind,
    /// The changed part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The changed fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<PartChange>>,
}

words! {
    /// The kind of a change.
    DeltaKind {
        /// A part of the worker changed.
        Changed = "changed",
        /// The worker was removed.
        Gone = "gone",
    }
}

words! {
    /// A part of the stored state of a worker.
    Part {
        /// The identity.
        Identity = "identity",
        /// The desired state.
        Desired = "desired",
        /// The observed state.
        Observed = "observed",
        /// The last action.
        Action = "action",
        /// The worker's own memory.
        Memory = "memory",
    }
}

/// A changed field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartChange {
    /// A JSON pointer to the field; empty for the whole document.
    pub path: String,
    /// The new value; missing if the field was removed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The stored state of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRemembered {
    /// The path of the worker.
    pub worker: String,
    /// The identity.
    #[schemars(with = "Map<String, Value>")]
    pub identity: Value,
    /// The desired state.
    pub desired: Value,
    /// The observed state.
    pub observed: Value,
    /// The state.
    pub state: Option<String>,
    /// The last action.
    pub action: Option<LastAction>,
}

/// A part of a worker's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerLog {
    /// The text.
    pub text: String,
    /// The offset to continue from.
    pub offset: u64,
}

/// The changes of a reload, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkersReloaded")]
pub struct Reloaded {
    /// New workers; they start.
    pub added: Vec<String>,
    /// Changed workers. Sprag replaces their process if the change affects it.
    pub changed: Vec<String>,
    /// Removed workers; they stop.
    pub removed: Vec<String>,
    /// The number of unchanged workers.
    pub unchanged: usize,
    /// The number of new, changed and removed rules.
    pub rules: usize,
    /// New or changed workers that cannot start. A running process continues with its old definition.
    pub not_startable: Vec<NotStartable>,
}

/// A worker that cannot start on this machine with its new definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotStartable {
    /// The path of the worker.
    pub path: String,
    /// What is missing.
    pub reason: String,
}
