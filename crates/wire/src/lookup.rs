//! What people look up: hits of a search, timers and schedules of all executions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;

use crate::values::words::words;

/// The hits of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The text that was searched for.
    pub query: String,
    /// The hits: exact ones first, then what begins with the text.
    pub data: Vec<SearchHit>,
    /// Whether there may be more hits.
    pub more: bool,
}

/// A hit of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// What it is.
    pub kind: HitKind,
    /// Its id, name or path.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Whether the text is its whole id, key or name, not only the beginning.
    pub exact: bool,
    /// The record to open, if it is another one: the execution of a key, or the action of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The status, of records that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The name of the machine, of what belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

words! {
    /// What a hit is.
    HitKind {
        /// An execution.
        Execution = "execution",
        /// The key of an execution.
        Key = "key",
        /// An action.
        Action = "action",
        /// A dead letter.
        DeadLetter = "deadLetter",
        /// An attempt of an action.
        Attempt = "attempt",
        /// A workflow.
        Workflow = "workflow",
        /// A bulk job.
        Job = "job",
        /// A kill switch.
        Switch = "switch",
        /// A token. Only administrators find tokens.
        Token = "token",
        /// A machine.
        Machine = "machine",
        /// A worker.
        Worker = "worker",
        /// An operation of the catalog.
        Operation = "operation",
    }
}

/// A hint of the stream of changes: a record to fetch again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hinted {
    /// What changed.
    pub kind: HintKind,
    /// Its id, name, key or path.
    pub id: String,
    /// For an action: the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
}

words! {
    /// What a hint is about.
    HintKind {
        /// An execution.
        Execution = "execution",
        /// An action.
        Action = "action",
        /// A dead letter that is new, or that a person retried or archived.
        DeadLetter = "deadLetter",
        /// A machine.
        Machine = "machine",
        /// A workflow, or an action that waits for approval.
        Workflow = "workflow",
        /// A bulk job.
        Job = "job",
        /// A kill switch.
        Switch = "switch",
        /// An override of a limit.
        Limit = "limit",
        /// A token.
        Token = "token",
        /// An operation of the catalog.
        Operation = "operation",
        /// A worker.
        Worker = "worker",
    }
}

/// A timer of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DueTimer {
    /// The id of the execution.
    pub execution_id: ExecutionId,
    /// The key of the execution.
    pub key: Option<String>,
    /// The name of the machine.
    pub machine: String,
    /// The version of the machine.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The state that the timer belongs to, if it is active.
    pub state: Option<String>,
    /// For a schedule: the `actionId` that it triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// The time when it is due.
    pub due_at: Timestamp,
    /// How late it is, in milliseconds; 0 before it is due.
    pub late: u64,
}

/// A schedule of an execution: when it triggers its action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledAction {
    /// Whose schedule it is.
    #[serde(flatten)]
    pub timer: DueTimer,
    /// The schedule as in the machine file: a cron expression.
    pub cron: String,
    /// The time zone of the expression.
    pub time_zone: String,
    /// The next occurrences, at most five.
    #[schemars(length(max = 5))]
    pub next: Vec<Timestamp>,
    /// How many occurrences are overdue: the execution is paused or failed, or the server was stopped.
    pub missed: u64,
    /// What happens to occurrences that were missed.
    pub catch_up: CatchUp,
}

words! {
    /// What happens to missed occurrences of a schedule.
    CatchUp from sprag_core::time::schedule::CatchUp {
        /// None of them triggers the action.
        Skip = "skip",
        /// The latest of them triggers the action.
        One = "one",
        /// All of them trigger the action, but no more than the latest 100.
        All = "all",
    }
}
