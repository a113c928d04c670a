//! The health report of actions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;

use crate::values::words::words;

words! {
    /// The window of a report.
    Window {
        /// 15 minutes.
        QuarterHour = "15m",
        /// An hour.
        Hour = "1h",
        /// A day.
        Day = "24h",
        /// A week.
        Week = "7d",
    }
}

/// The health report of actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// The `actionId` of the report; missing if it covers all actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// The window.
    pub window: Window,
    /// The start of the window.
    pub from: Timestamp,
    /// The end of the window.
    pub to: Timestamp,
    /// Whether no action was triggered in the window.
    pub is_empty: bool,
    /// The actions behind the report.
    pub basis: Basis,
    /// The figures of all actions.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures by type.
    pub by_type: Vec<OfType>,
    /// The figures by machine and `actionId`.
    pub by_action: Vec<OfAction>,
    /// The causes of failures, most frequent first.
    pub failure_reasons: Vec<FailureReason>,
    /// The recommended changes.
    pub recommendations: Vec<Recommendation>,
}

/// The actions behind a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Basis {
    /// The number of counted actions.
    pub actions: u64,
    /// Whether the report uses a sample, because there are too many actions.
    pub sampled: bool,
}

/// The figures of a group of actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The number of triggered actions.
    pub total_executions: u64,
    /// The number of succeeded actions.
    pub succeeded: u64,
    /// The number of dead letters, including archived ones.
    pub dead: u64,
    /// The number of cancelled actions.
    pub cancelled: u64,
    /// The number of skipped actions.
    pub skipped: u64,
    /// The number of open actions.
    pub open: u64,
    /// The number of attempts.
    pub attempts: u64,
    /// Succeeded actions divided by succeeded and dead actions.
    #[schemars(range(min = 0))]
    pub success_rate: Option<f64>,
    /// The duration of attempts.
    pub latency: Option<Latency>,
    /// How long actions were due before their last attempt started.
    pub queue_delay: Option<Latency>,
    /// The share of actions with more than one attempt, among actions with an attempt.
    #[schemars(range(min = 0))]
    pub retry_rate: Option<f64>,
    /// Retries per action with an attempt.
    #[schemars(range(min = 0))]
    pub average_retries: Option<f64>,
    /// The cost of all attempts.
    #[schemars(range(min = 0))]
    pub total_cost: f64,
    /// The cost per action with an attempt.
    #[schemars(range(min = 0))]
    pub cost_per_execution: Option<f64>,
    /// Failed attempts by error type.
    pub error_types: BTreeMap<String, u64>,
}

/// The distribution of durations in milliseconds. Each percentile is a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The average.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// 95 % of the values are at most this.
    pub p95: u64,
    /// 99 % of the values are at most this.
    pub p99: u64,
    /// The largest value.
    pub max: u64,
}

/// The figures of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfType {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The figures of the type.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of an action of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfAction {
    /// The name of the machine.
    pub machine: String,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The figures of the action.
    #[serde(flatten)]
    pub figures: Figures,
}

/// One cause of failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureReason {
    /// The error type.
    pub error_type: String,
    /// The number of attempts with this error.
    pub attempts: u64,
    /// The number of actions that died with this error.
    pub dead_letters: u64,
    /// The share of all dead actions.
    #[schemars(range(min = 0))]
    pub share: Option<f64>,
    /// The message of one such error.
    pub example: String,
    /// The id of one such dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<ActionId>,
}

/// A recommended change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// The stable code of the recommendation.
    pub code: Cow<'static, str>,
    /// The name of the machine.
    pub machine: String,
    /// The `actionId` in the machine.
    pub action_id: String,
    /// What Sprag observed, and what to do.
    pub text: String,
    /// The figures behind the recommendation.
    #[schemars(with = "Map<String, Value>")]
    pub figures: Value,
}
