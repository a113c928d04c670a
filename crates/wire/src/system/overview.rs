//! How everything stands: what is wrong, ranked; counts; figures over time.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::ids::NodeId;
use sprag_core::time::Timestamp;

use super::Node;
use crate::values::words::words;
use crate::{Count, Switch, WorkerCounts};

/// How everything stands, at most about a second ago.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The time of the answer.
    pub at: Timestamp,
    /// What is wrong: what is broken and grows first.
    pub problems: Vec<OverviewProblem>,
    /// Open executions.
    pub executions: OpenExecutions,
    /// Open actions.
    pub actions: OpenActions,
    /// Dead letters.
    pub dead_letters: OpenDeadLetters,
    /// The workflows and actions that wait for approval.
    pub approvals: Count,
    /// The kill switches that are on or being released.
    pub switches: Vec<Switch>,
    /// The destinations that the answering node leaves alone for now, because they failed.
    pub circuits: Vec<OpenCircuit>,
    /// The nodes that share the database.
    pub nodes: Vec<Node>,
    /// The workers of the answering node, if it supervises any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<WorkerCounts>,
}

/// Open executions, by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenExecutions {
    /// They accept events.
    pub running: Count,
    /// A person paused them.
    pub paused: Count,
    /// Their last decision failed.
    pub failed: Count,
}

/// Open actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenActions {
    /// Actions that are due and wait.
    pub queued: Count,
    /// The time when the oldest of the counted ones became due.
    pub oldest_queued_at: Option<Timestamp>,
    /// Actions with a running attempt.
    pub running: Count,
    /// Actions that wait for another attempt.
    pub retrying: Count,
}

/// Dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenDeadLetters {
    /// All of them.
    pub open: Count,
    /// Those that died within the last hour.
    pub recent: Count,
    /// The groups, by cause.
    pub groups: Count,
}

/// A destination that a node leaves alone for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenCircuit {
    /// The destination, as `host:port`.
    pub destination: String,
    /// The time of the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverviewProblem {
    /// What it is.
    pub kind: ProblemKind,
    /// How bad it is.
    pub severity: ProblemSeverity,
    /// A headline.
    pub title: String,
    /// The cause, in the words of what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The time since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How many records it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// How many of them are new within the last hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<Count>,
    /// What happens next by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextEvent>,
    /// What a person can do.
    pub remedy: String,
    /// Where to look.
    pub link: ProblemLink,
}

/// What happens next by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextEvent {
    /// What happens.
    pub what: String,
    /// The time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// Where to look: a list with its parameters, or one record of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemLink {
    /// The list: the path of its route behind `/v1/`.
    pub list: String,
    /// The record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The parameters of the list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
}

words! {
    /// What is wrong.
    ProblemKind {
        /// The engine does not decide.
        Engine = "engine",
        /// A node stopped, and others have not taken over all its work.
        Node = "node",
        /// A worker failed, or its rule gave up or restarts it.
        Worker = "worker",
        /// Actions died.
        DeadLetters = "deadLetters",
        /// A destination fails.
        Circuit = "circuit",
        /// Decisions of executions failed.
        FailedExecutions = "failedExecutions",
        /// A kill switch is on.
        Switch = "switch",
        /// Schedules missed occurrences.
        MissedSchedules = "missedSchedules",
        /// People must approve something.
        Approvals = "approvals",
        /// Actions wait for another attempt.
        Retrying = "retrying",
        /// The server has a note for operators.
        Note = "note",
    }
}

words! {
    /// How bad a problem is.
    ProblemSeverity {
        /// It is broken, and nothing mends it but a person.
        Critical = "critical",
        /// It is broken or held, and does not grow, or mends itself.
        Warning = "warning",
        /// It waits.
        Info = "info",
    }
}

/// A figure over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The figure.
    pub metric: SeriesMetric,
    /// The unit of its values.
    pub unit: String,
    /// The node that measured it, if several nodes share the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Milliseconds between two points.
    pub resolution: u64,
    /// The points, oldest first. A minute in which nothing was measured has none.
    pub points: Vec<SeriesPoint>,
}

words! {
    /// A figure that the server keeps for a day.
    SeriesMetric {
        /// Executions that completed, per minute.
        Throughput = "throughput",
        /// The share of ended actions that succeeded, from 0 to 1.
        SuccessShare = "successShare",
        /// How long due actions waited for their attempt, on average, in seconds.
        QueueDelay = "queueDelay",
        /// Open dead letters, counted up to 10,000.
        DeadLetters = "deadLetters",
    }
}

/// A value at a minute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// The beginning of the minute.
    pub at: Timestamp,
    /// The value; null if nothing happened that has one.
    pub value: Option<f64>,
}
