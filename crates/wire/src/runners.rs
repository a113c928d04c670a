//! External runners: programs that lease attempts, report that they are alive, and report how attempts ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;

use crate::executions::given;
use crate::words::words;
use crate::{ActionStatus, Outcome, Time};

/// The body of a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseRequest {
    /// The runner's own name, for actions that name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub runner: Option<String>,
    /// The action types that it serves.
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 512)))]
    pub types: Vec<String>,
    /// Only actions with all of these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 0, max = 100), inner(length(min = 1, max = 512)))]
    pub tags: Option<Vec<String>>,
    /// How many attempts at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("default" = 1))]
    pub max: Option<u64>,
    /// How long to wait for the first one: milliseconds, or text such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Time>,
    /// How long an attempt is leased without a heartbeat, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3_600), extend("default" = 60))]
    pub lease_seconds: Option<u64>,
}

/// The attempts that a runner was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Leased {
    /// The attempts, perhaps none.
    pub attempts: Vec<LeasedAttempt>,
}

/// An attempt as an external runner is given it.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeasedAttempt {
    /// The attempt: heartbeats and the outcome name it.
    pub id: AttemptId,
    /// From 1.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// What the machine calls the action.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The configuration, rendered, secrets included.
    pub config: Value,
    /// The same for every attempt, until a person edits the configuration.
    pub idempotency_key: String,
    /// The attempt is over then, despite heartbeats.
    pub deadline: Timestamp,
    /// When the lease ends unless a heartbeat renews it.
    pub lease_until: Timestamp,
    /// The last checkpoint of an attempt of the action.
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
    /// A value to keep for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// When the lease ends now.
    pub lease_until: Timestamp,
    /// A person asked for the attempt to stop: end it within ten seconds.
    pub cancel_requested: bool,
}

/// The body of a completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteRequest {
    /// What came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cost_estimate: Option<f64>,
    /// Anything else worth keeping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// The body of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailRequest {
    /// Why.
    pub error: ReportedError,
    /// `notDone` only where certainly nothing happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unknown"))]
    pub outcome: Option<FailedOutcome>,
    /// Not to be retried before: milliseconds, or text such as `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Time>,
}

/// Why an attempt of an external runner did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedError {
    /// Such as `rate_limit`; retry policies match on it.
    #[serde(rename = "type")]
    #[schemars(length(max = 64), regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub kind: String,
    /// What happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The other side's own code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Anything that helps a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// `false`: no other attempt can ever help. Otherwise the retry policy decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

words! {
    /// How an attempt failed.
    FailedOutcome {
        /// It certainly did not happen.
        NotDone = "notDone",
        /// It is unknown whether it happened.
        Unknown = "unknown",
    }
}

/// What became of an attempt that an external runner ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finished {
    /// The attempt.
    pub id: AttemptId,
    /// How it ended.
    pub outcome: Outcome,
    /// How its action stands now.
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
