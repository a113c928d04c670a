//! Dead letters: their case files, and how they are retried.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::action::edit::RetryLists;
use sprag_core::patch::Operation;
use sprag_core::time::Timestamp;

use crate::Action;

/// The body of a retry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryRequest {
    /// Another configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Take the definition of this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// Changes of the document of `timeout`, `retryPolicy` and `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<Operation>>,
}

/// A dead letter with what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseFile {
    /// The action.
    #[serde(flatten)]
    pub action: Action,
    /// Why it died.
    pub failure_reason: Option<ActionError>,
    /// Attempts in all, including those no longer kept.
    pub total_attempts: u32,
    /// When the last one began.
    pub last_attempt_at: Option<Timestamp>,
    /// What the last attempt sent; null for an action whose configuration could not be rendered.
    pub request: Option<SentRequest>,
    /// Other dead letters that failed alike.
    pub others: Others,
    /// A retry as it is can succeed, once what is wrong outside of the action is fixed.
    pub recoverable: bool,
    /// A person must check before it is retried.
    pub manual_review_required: bool,
    /// What would fix it.
    pub suggested_fix: Option<String>,
    /// The same as a JSON Patch for a retry, where a change of the action alone is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_patch: Vec<Operation>,
}

/// What an attempt sent, secrets masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentRequest {
    /// The configuration, rendered.
    #[schemars(with = "Map<String, Value>")]
    pub config: Value,
    /// The secrets that it names.
    pub secrets: Vec<String>,
    /// Where it went, as `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Its time limit in milliseconds.
    #[schemars(range(min = 1))]
    pub timeout: u64,
    /// How often and after which errors it was retried.
    pub retry_policy: RetryLists,
}

/// Dead letters with the same fingerprint, not counting this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// How many.
    pub count: u64,
    /// Whether there are more than were counted.
    pub more: bool,
}
