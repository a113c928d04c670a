//! How actions have been doing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;

use crate::words::words;

words! {
    /// The window of a report.
    Window {
        /// A quarter of an hour.
        QuarterHour = "15m",
        /// An hour.
        Hour = "1h",
        /// A day.
        Day = "24h",
        /// A week.
        Week = "7d",
    }
}

/// How actions have been doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// Only of what machines call so; of all actions, when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// The window.
    pub window: Window,
    /// Its first instant.
    pub from: Timestamp,
    /// Its last instant.
    pub to: Timestamp,
    /// Nothing was triggered in it.
    pub is_empty: bool,
    /// What the report rests on.
    pub basis: Basis,
    /// The figures of all actions.
    #[serde(flatten)]
    pub figures: Figures,
    /// By type.
    pub by_type: Vec<OfType>,
    /// By what machines call them.
    pub by_action: Vec<OfAction>,
    /// What failed, most frequent first.
    pub failure_reasons: Vec<FailureReason>,
    /// What to change, with the figures behind it.
    pub recommendations: Vec<Recommendation>,
}

/// What a report rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Basis {
    /// Actions that were counted.
    pub actions: u64,
    /// Whether these are a sample, because there are more than a report counts.
    pub sampled: bool,
}

/// The figures of some actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Actions that were triggered.
    pub total_executions: u64,
    /// Of them: succeeded.
    pub succeeded: u64,
    /// Dead letters, archived ones included.
    pub dead: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Skipped.
    pub skipped: u64,
    /// Not over yet.
    pub open: u64,
    /// Attempts in all.
    pub attempts: u64,
    /// Succeeded, of those that succeeded or died.
    #[schemars(range(min = 0))]
    pub success_rate: Option<f64>,
    /// How long attempts took.
    pub latency: Option<Latency>,
    /// How long actions were ready before their attempt began.
    pub queue_delay: Option<Latency>,
    /// Actions that needed more than one attempt, of those that had one.
    #[schemars(range(min = 0))]
    pub retry_rate: Option<f64>,
    /// Attempts after the first, by action that had one.
    #[schemars(range(min = 0))]
    pub average_retries: Option<f64>,
    /// What all attempts cost.
    #[schemars(range(min = 0))]
    pub total_cost: f64,
    /// The same by action that had an attempt.
    #[schemars(range(min = 0))]
    pub cost_per_execution: Option<f64>,
    /// Failed attempts, by the type of their error.
    pub error_types: BTreeMap<String, u64>,
}

/// How durations are spread, in milliseconds, each a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// All together, divided by their number.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// Half are not longer.
    pub p50: u64,
    /// 95 of 100 are not longer.
    pub p95: u64,
    /// 99 of 100 are not longer.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// The figures of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfType {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of an action of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfAction {
    /// The machine's name.
    pub machine: String,
    /// What it calls the action.
    pub action_id: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What failed for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureReason {
    /// The type of the error.
    pub error_type: String,
    /// Attempts that ended so.
    pub attempts: u64,
    /// Actions that died of it.
    pub dead_letters: u64,
    /// Of all that died.
    #[schemars(range(min = 0))]
    pub share: Option<f64>,
    /// The message of one of them.
    pub example: String,
    /// A dead letter to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<ActionId>,
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// A stable name for the kind of advice.
    pub code: Cow<'static, str>,
    /// The machine's name.
    pub machine: String,
    /// What it calls the action.
    pub action_id: String,
    /// What was seen and what to do.
    pub text: String,
    /// The figures behind it.
    #[schemars(with = "Map<String, Value>")]
    pub figures: Value,
}
