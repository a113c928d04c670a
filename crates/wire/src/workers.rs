//! Supervised workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::time::Timestamp;

use crate::executions::given;
use crate::words::words;

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its path in the tree.
    pub path: String,
    /// Its own word for how it is.
    pub state: String,
    /// Why.
    pub reason: String,
    /// Its process.
    #[schemars(range(min = 1))]
    pub pid: Option<i64>,
    /// How often it was restarted.
    pub restarts: u64,
    /// How its circuit breaker stands.
    pub circuit: String,
    /// `fresh`, `stale`, or `failing: why`.
    pub observation: String,
    /// What it waits for.
    pub waiting: Option<String>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// The rules that restart it.
    pub restarted_by: Vec<WorkerRule>,
}

/// A restart rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerRule {
    /// Its name.
    pub name: String,
    /// The worker whose children it is about; `/` for the supervisor itself.
    pub supervisor: String,
    /// The child it restarts.
    pub restart: String,
    /// The children that a restart affects.
    pub affects: Vec<String>,
    /// How its circuit breaker stands.
    pub circuit: String,
    /// Detections that count.
    pub detections: usize,
    /// This many within the window escalate.
    pub detections_max: usize,
    /// The window, in milliseconds.
    pub window_millis: u64,
    /// The last result.
    pub last_check: Option<String>,
    /// When it was checked.
    pub checked_at: Option<Timestamp>,
    /// Why: what was found, or why nothing can be found.
    pub reason: Option<String>,
    /// What is wrong, while the last check was bad or the rule gave up.
    pub cause: Option<String>,
    /// Why the rule gave up, if it did.
    pub gave_up: Option<String>,
    /// When it gave up.
    pub gave_up_at: Option<Timestamp>,
    /// What happens next.
    pub next: String,
    /// When, where that is known.
    pub next_at: Option<Timestamp>,
}

words! {
    /// Where a worker is to go.
    Goal {
        /// It should run.
        Running = "running",
        /// It should exist and not run.
        Stopped = "stopped",
        /// It should stop and go.
        Removed = "removed",
    }
}

/// Why a worker is as it is, and what happens next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerExplanation {
    /// The worker.
    #[serde(flatten)]
    pub worker: Worker,
    /// Where it is to go.
    pub goal: Goal,
    /// What holds it back.
    pub holds: Vec<WorkerHold>,
    /// The rules across its children.
    pub rules: Vec<WorkerRule>,
    /// Children on which it gave up.
    pub escalations: Vec<WorkerEscalation>,
    /// Declarations of children that are not possible.
    pub child_errors: Vec<String>,
    /// How its children are.
    pub children: WorkerCounts,
    /// Its last action.
    pub action: LastAction,
    /// What was observed of it.
    pub observed: Value,
    /// What to read about its circuit breaker.
    pub runbook: Option<String>,
}

/// One thing that holds a worker back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerHold {
    /// What it is.
    pub what: String,
    /// Since when.
    pub since: Timestamp,
    /// What happens next.
    pub next: String,
    /// When, where that is known.
    pub at: Option<Timestamp>,
    /// When the supervisor gives up, if it does.
    pub gives_up: Option<Timestamp>,
    /// What a person can do.
    pub remedy: String,
}

/// A child on which a supervisor gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerEscalation {
    /// The child.
    pub child: String,
    /// Why.
    pub cause: String,
    /// Since when.
    pub since: Timestamp,
}

/// How many workers are how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCounts {
    /// They run.
    pub healthy: usize,
    /// They should run and do not, or not well.
    pub unhealthy: usize,
    /// They are stopped.
    pub stopped: usize,
}

/// The last action of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkerAction")]
pub struct LastAction {
    /// One more with every action.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// The generation of the worker that it belongs to.
    pub generation: u64,
    /// When it started.
    pub started: Option<Timestamp>,
    /// Which attempt.
    pub attempt: u32,
    /// How it ended.
    pub outcome: LastOutcome,
    /// Why it failed.
    pub error: Option<String>,
}

/// How the last action of a worker ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum LastOutcome {
    /// There was none.
    None,
    /// It has not ended.
    InProgress,
    /// It succeeded.
    Succeeded,
    /// It is unknown how it ended.
    Unknown,
    /// It failed.
    Failed {
        /// The class of the error.
        class: String,
    },
}

/// What changed since a cursor, or everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerDeltas {
    /// What changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deltas: Option<Vec<WorkerDelta>>,
    /// All workers: the reader begins, or its cursor is too old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub everything: Option<Vec<WorkerRemembered>>,
    /// Where to continue.
    pub cursor: String,
    /// Whether more changes wait.
    pub has_more: bool,
}

/// One change of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDelta {
    /// One more than that of the change before.
    #[schemars(range(min = 1))]
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// The worker's path.
    pub worker: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: DeltaKind,
    /// Which part changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// What changed in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<PartChange>>,
}

words! {
    /// What happened to a worker.
    DeltaKind {
        /// A part of it changed.
        Changed = "changed",
        /// It is gone.
        Gone = "gone",
    }
}

words! {
    /// A part of what is remembered of a worker.
    Part {
        /// Who it is.
        Identity = "identity",
        /// What is wanted.
        Desired = "desired",
        /// What was seen.
        Observed = "observed",
        /// Its last action.
        Action = "action",
        /// What it keeps for itself.
        Memory = "memory",
    }
}

/// One changed field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartChange {
    /// Where, as a JSON pointer; empty: the whole document.
    pub path: String,
    /// The new value; missing where there is none any more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Everything that is remembered of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRemembered {
    /// The worker's path.
    pub worker: String,
    /// Who it is.
    #[schemars(with = "Map<String, Value>")]
    pub identity: Value,
    /// What is wanted.
    pub desired: Value,
    /// What was seen.
    pub observed: Value,
    /// Its own word for how it is.
    pub state: Option<String>,
    /// Its last action.
    pub action: Option<LastAction>,
}

/// A part of a worker's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerLog {
    /// The text.
    pub text: String,
    /// Where to continue.
    pub offset: u64,
}

/// What a reload changed, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkersReloaded")]
pub struct Reloaded {
    /// New workers, which start.
    pub added: Vec<String>,
    /// Workers that are declared otherwise: they restart where their process is concerned.
    pub changed: Vec<String>,
    /// Workers that are not declared any more: they stop and go.
    pub removed: Vec<String>,
    /// How many stay as they are.
    pub unchanged: usize,
    /// How many rules are new, changed or gone.
    pub rules: usize,
    /// New or changed workers that cannot be started. A running process continues with its earlier configuration.
    pub not_startable: Vec<NotStartable>,
}

/// A worker that cannot be started on this machine as it is declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotStartable {
    /// The worker.
    pub path: String,
    /// What is missing.
    pub reason: String,
}
