//! Limits by key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::action::{LimitUse, Rate};
use sprag_core::time::Timestamp;

use crate::Duration;

/// The body of an override. For a value that you do not set, the definitions apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitRequest {
    /// The most attempts that run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The most attempts that start per period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateRequest>,
}

/// A rate: a number of attempts per period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateRequest {
    /// The number of attempts.
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The period: milliseconds, or text such as `1m`.
    pub per: Period,
}

/// The period of a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Period {
    /// Milliseconds.
    Millis(#[schemars(range(min = 1))] u64),
    /// Text.
    Text(Duration),
}

/// A limit key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The key.
    pub key: String,
    /// The limits in the definitions in use, each combination once.
    pub definitions: Vec<LimitNumbers>,
    /// The operator's override.
    #[serde(rename = "override")]
    pub overridden: Option<LimitOverride>,
    /// The number of running attempts.
    pub running: usize,
    /// The number of waiting actions in memory.
    pub waiting: usize,
    /// Whether more actions wait than `waiting` counts.
    pub more: bool,
}

impl Limit {
    /// For `If-Match`: 0 without an override.
    pub fn revision(&self) -> u64 {
        self.overridden.as_ref().map_or(0, |overridden| overridden.revision)
    }
}

/// The values of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitNumbers {
    /// The most attempts that run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The most attempts that start per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl From<&LimitUse> for LimitNumbers {
    fn from(limit: &LimitUse) -> Self {
        Self {
            concurrency: limit.concurrency,
            rate: limit.rate,
        }
    }
}

/// An operator's override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitOverride {
    /// The values of the override.
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    /// The operator who set it.
    pub by: String,
    /// The time when it was set.
    pub since: Timestamp,
    /// The revision, for `If-Match`. It grows with every change.
    #[schemars(range(min = 1))]
    pub revision: u64,
}
