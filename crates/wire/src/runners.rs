//! External runners: programs that lease attempts, send heartbeats and report outcomes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;

use crate::executions::given;
use crate::values::words::words;
use crate::{ActionStatus, Body, Outcome, Time};

/// The body of a lease request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseRequest {
    /// The name of the runner, which gets actions with this `runner`. Default: actions of its types for any runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub runner: Option<String>,
    /// The action types that the runner serves.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 512)))]
    pub types: Vec<String>,
    /// Only actions with all of these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 0, max = 100), inner(length(min = 1, max = 512)))]
    pub tags: Option<Vec<String>>,
    /// The most attempts in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("default" = 1))]
    pub max: Option<u64>,
    /// How long to wait for a first attempt: milliseconds, or text such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Time>,
    /// The length of a lease without a heartbeat, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3_600), extend("default" = 60))]
    pub lease_seconds: Option<u64>,
}

/// The leased attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Leased {
    /// The attempts; empty if there is no work.
    pub attempts: Vec<LeasedAttempt>,
}

/// An attempt that an external runner leased.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeasedAttempt {
    /// The id of the attempt, for heartbeats and the outcome.
    pub id: AttemptId,
    /// The number of the attempt, from 1.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The rendered configuration, with secrets.
    pub config: Value,
    /// The idempotency key: the same for every attempt, until a person edits the configuration.
    pub idempotency_key: String,
    /// The end of the attempt. Heartbeats do not extend it.
    pub deadline: Timestamp,
    /// The end of the lease, unless a heartbeat extends it.
    pub lease_until: Timestamp,
    /// The last checkpoint of an earlier attempt.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
}

impl fmt::Debug for LeasedAttempt {
    /// Without the configuration: it holds secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("LeasedAttempt");
        shown.field("id", &self.id).field("number", &self.number);
        shown.finish_non_exhaustive()
    }
}

/// The body of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatRequest {
    /// A checkpoint for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
}

impl Body for HeartbeatRequest {}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The new end of the lease.
    pub lease_until: Timestamp,
    /// Whether a person cancelled the action. If so, end the attempt within ten seconds.
    pub cancel_requested: bool,
}

/// The body of a completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteRequest {
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The cost of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cost_estimate: Option<f64>,
    /// Metadata for people and reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl Body for CompleteRequest {}

/// The body of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailRequest {
    /// The error.
    pub error: ReportedError,
    /// The outcome. Use `notDone` only if the effect certainly did not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unknown"))]
    pub outcome: Option<FailedOutcome>,
    /// The shortest wait before a retry: milliseconds, or text such as `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Time>,
}

/// The error that an external runner reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedError {
    /// The error type, such as `rate_limit`. Retry policies match it.
    #[serde(rename = "type")]
    #[schemars(length(max = 64), regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub kind: String,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The error code of the called service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Details for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// With `false`, no other attempt can succeed. Otherwise the retry policy decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

words! {
    /// The outcome of a failed attempt.
    FailedOutcome {
        /// The effect certainly did not happen.
        NotDone = "notDone",
        /// The effect may have happened.
        Unknown = "unknown",
    }
}

/// The answer to the outcome of an external runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finished {
    /// The id of the attempt.
    pub id: AttemptId,
    /// The outcome of the attempt.
    pub outcome: Outcome,
    /// The status of the action.
    pub status: ActionStatus,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_attempt_that_is_shown_for_debugging_shows_no_secret() {
        let leased = LeasedAttempt {
            id: AttemptId::from_bytes([0; 16]),
            number: 1,
            action_id: "x".to_owned(),
            kind: "render".to_owned(),
            config: json!({"token": "hunter22"}),
            idempotency_key: String::new(),
            deadline: Timestamp::default(),
            lease_until: Timestamp::default(),
            checkpoint: None,
        };
        assert!(!format!("{leased:?}").contains("hunter22"));
    }
}
