//! Dead letters: their case files, and the body of a retry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::action::edit::RetryLists;
use sprag_core::document::patch::Operation;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;

use crate::{Action, Count, ErrorSummary};

/// The body of a retry of a dead letter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryRequest {
    /// The new configuration. The retry then has a new idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// The machine version whose definition the retry uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// A JSON Patch of the document `{timeout, retryPolicy, config}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<Operation>>,
}

/// A dead letter with its case file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseFile {
    /// The action.
    #[serde(flatten)]
    pub action: Action,
    /// The error that ended the action.
    pub failure_reason: Option<ActionError>,
    /// The number of all attempts, including attempts that Sprag no longer stores.
    pub total_attempts: u32,
    /// The time when the last attempt began.
    pub last_attempt_at: Option<Timestamp>,
    /// The request of the last attempt; null if Sprag could not render the configuration.
    pub request: Option<SentRequest>,
    /// Other dead letters with the same fingerprint.
    pub others: Others,
    /// Whether a retry of the unchanged action can succeed after a person fixed the outside cause.
    pub recoverable: bool,
    /// Whether a person must check before a retry.
    pub manual_review_required: bool,
    /// The suggested fix.
    pub suggested_fix: Option<String>,
    /// The suggested fix as a JSON Patch for a retry, if changing the action is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_patch: Vec<Operation>,
}

/// Dead letters with the same fingerprint: most likely with the same cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterGroup {
    /// What they have in common.
    pub fingerprint: String,
    /// How many they are.
    pub count: Count,
    /// How many of them died within the last hour.
    pub recent: Count,
    /// The time when the first of them died.
    pub first_at: Timestamp,
    /// The time when the last of them died.
    pub last_at: Timestamp,
    /// The dead letter that died last. It stands for the others below.
    pub sample: ActionId,
    /// The execution of the sample.
    pub execution_id: ExecutionId,
    /// The name of the machine.
    pub machine: String,
    /// The machine version of the sample.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// The action type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The error of the sample.
    pub error: Option<ErrorSummary>,
    /// Whether a retry of the unchanged action can succeed after a person fixed the outside cause.
    pub recoverable: bool,
    /// Whether a person must check before a retry.
    pub manual_review_required: bool,
    /// The suggested fix.
    pub suggested_fix: Option<String>,
    /// The suggested fix as a JSON Patch for a retry, if changing the action is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_patch: Vec<Operation>,
}

/// Groups of dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterGroups {
    /// The groups: those that grew most within the last hour first, then the largest.
    pub data: Vec<DeadLetterGroup>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// Whether there are more groups than Sprag looked at.
    pub more: bool,
}

/// The request of an attempt, with secrets masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentRequest {
    /// The rendered configuration.
    #[schemars(with = "Map<String, Value>")]
    pub config: Value,
    /// The names of the secrets in the configuration.
    pub secrets: Vec<String>,
    /// The destination, as `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The timeout of the attempt in milliseconds.
    #[schemars(range(min = 1))]
    pub timeout: u64,
    /// How often, and after which errors, Sprag retried.
    pub retry_policy: RetryLists,
}

/// Dead letters with the same fingerprint, not counting this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// The number of dead letters.
    pub count: u64,
    /// Whether there are more than Sprag counted.
    pub more: bool,
}
