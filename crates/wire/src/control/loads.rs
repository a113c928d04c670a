//! Load tests: their start, live figures and results, and the agents that perform them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;

use crate::values::words::words;
use crate::{ActionStatus, Body, Waiting};

/// The body of a new load test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRequest {
    /// The load plan, as in docs/load.md.
    pub plan: Map<String, Value>,
    /// The agents: `host:port`, or the names of registered agents. Default: all registered agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), inner(length(min = 1, max = 512)))]
    pub agents: Option<Vec<String>>,
    /// Tags for filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1, max = 512)))]
    pub tags: Option<Vec<String>>,
}

impl Body for LoadRequest {}

/// A load test: an action of type `load`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Load {
    /// The id of the action.
    pub id: ActionId,
    /// The name of the plan; null for the step of a workflow that has no result yet.
    pub name: Option<String>,
    /// The status of the action.
    pub status: ActionStatus,
    /// What the load test waits for.
    pub waiting: Waiting,
    /// Whether a person aborted it while it was running.
    pub cancel_requested: bool,
    /// The agents, as they were named.
    pub agents: Vec<String>,
    /// The id of the execution that the action belongs to.
    pub execution_id: ExecutionId,
    /// The figures so far, once the workload has started and until it ends. A list has them only for load tests that the
    /// answering node runs.
    pub live: Option<LiveLoad>,
    /// The result of the last attempt that started the workload.
    pub result: Option<RunResult>,
    /// The error of the last failed attempt.
    pub last_error: Option<ActionError>,
    /// The time of the request.
    pub created_at: Timestamp,
    /// The time when the last attempt ended.
    pub ended_at: Option<Timestamp>,
}

/// The figures of a running load test, of all agents together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveLoad {
    /// Milliseconds since the start of the workload.
    pub elapsed: u64,
    /// The duration of the workload in milliseconds.
    pub duration: u64,
    /// Operations so far, those of the ramp-up included.
    pub ops: u64,
    /// Failed operations so far.
    pub errors: u64,
    /// Operations per second in the last second.
    pub rate: f64,
    /// The figures at full load; those of the ramp-up until then.
    pub total: LoadFigures,
    /// The agents.
    pub agents: Vec<LiveAgent>,
    /// The thresholds of the plan.
    pub thresholds: Vec<ThresholdResult>,
}

/// An agent of a running load test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveAgent {
    /// The name.
    pub name: String,
    /// The address.
    pub address: String,
    /// The state: `READY`, `RUNNING`, `ABORTING`, `COMPLETED`, `FAILED`, `ABORTED` or `LOST`.
    pub state: String,
    /// Operations so far.
    pub ops: u64,
    /// Failed operations so far.
    pub errors: u64,
}

words! {
    /// The end of a load test.
    RunStatus {
        /// Each agent did its part, and the thresholds hold.
        Completed = "COMPLETED",
        /// An agent failed or was lost, or a threshold does not hold.
        Failed = "FAILED",
        /// A person or a program aborted it.
        Aborted = "ABORTED",
        /// Some agents were lost, and the plan accepts that.
        Partial = "PARTIAL",
    }
}

/// The result of a load test. Members that end in `Ms`, latencies and service times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The end.
    pub status: RunStatus,
    /// The reason, unless it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the plan.
    pub name: String,
    /// The time when the workload started.
    pub started_at: String,
    /// The time from the first operation of the first agent to that of the last one.
    pub start_spread_ms: f64,
    /// The largest uncertainty of an agent's clock.
    pub clock_uncertainty_ms: f64,
    /// The agents.
    pub agents: Vec<AgentResult>,
    /// The figures at full load.
    pub total: LoadFigures,
    /// The figures while the load rose.
    pub ramp: LoadFigures,
    /// Operations of the prepare phase.
    pub prepare_ops: u64,
    /// Arrivals that never started.
    pub missed: u64,
    /// The reasons of failed operations, the most frequent first.
    pub failures: Vec<FailureResult>,
    /// The thresholds.
    pub thresholds: Vec<ThresholdResult>,
    /// SHA-256 of the plan as the agents received it.
    pub plan_digest: String,
}

/// An agent in the result of a load test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// The name.
    pub name: String,
    /// The address.
    pub address: String,
    /// The state at the end: `COMPLETED`, `FAILED`, `ABORTED` or `LOST`.
    pub state: String,
    /// The reason, if it failed or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its clock minus the controller's.
    pub offset_ms: f64,
    /// Its operations.
    pub ops: u64,
    /// Its failed operations.
    pub errors: u64,
    /// Whether its numbers end before the load test does.
    pub partial: bool,
}

/// Figures of operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadFigures {
    /// Operations.
    pub ops: u64,
    /// Failed operations.
    pub errors: u64,
    /// Failed operations that were cut.
    pub cut: u64,
    /// Operations per second.
    pub throughput: f64,
    /// From the intended start to the end.
    pub latency: Percentiles,
    /// From the actual start to the end.
    pub service_time: Percentiles,
    /// The latency at every share of the operations.
    pub curve: Vec<CurvePoint>,
}

/// A point of the percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// The share of operations, from 0 to 1.
    pub share: f64,
    /// They took at most so many milliseconds.
    pub ms: f64,
}

/// Latencies in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// 90 of 100 are below.
    pub p90: f64,
    /// 95 of 100 are below.
    pub p95: f64,
    /// 99 of 100 are below.
    pub p99: f64,
    /// 999 of 1,000 are below.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Why operations failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureResult {
    /// The reason.
    pub reason: String,
    /// The number of operations.
    pub times: u64,
}

/// A threshold and its figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold, as in the plan.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Whether it holds.
    pub ok: bool,
}

/// The body with which an agent registers. It sends the same again, before the registration expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRequest {
    /// The name in reports.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The address for controllers, `host:port`.
    #[schemars(length(min = 1, max = 512))]
    pub address: String,
}

impl Body for AgentRequest {}

/// A registered agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAgent {
    /// The name.
    pub name: String,
    /// The address.
    pub address: String,
    /// The load test that it performs, if this node runs it.
    pub load: Option<ActionId>,
    /// Milliseconds until the registration expires, unless the agent renews it.
    pub expires_in: u64,
}
