//! Limits under a key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::action::{LimitUse, Rate};
use sprag_core::time::Timestamp;

use crate::Duration;

/// The body of an override. What is not given stays as the definitions say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitRequest {
    /// Attempts at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Attempts per time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateRequest>,
}

/// So many attempts in so much time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateRequest {
    /// How many.
    #[schemars(range(min = 1))]
    pub count: u32,
    /// In which time: milliseconds, or text such as `1m`.
    pub per: Period,
}

/// The time of a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Period {
    /// Milliseconds.
    Millis(#[schemars(range(min = 1))] u64),
    /// Text.
    Text(Duration),
}

/// A key that limits actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The key.
    pub key: String,
    /// What definitions in use say, each combination once.
    pub definitions: Vec<LimitNumbers>,
    /// The operator's override.
    #[serde(rename = "override")]
    pub overridden: Option<LimitOverride>,
    /// Attempts under way.
    pub running: usize,
    /// Waiting actions that are in memory.
    pub waiting: usize,
    /// Whether the store holds more of them.
    pub more: bool,
}

impl Limit {
    /// For `If-Match`: 0 without an override.
    pub fn revision(&self) -> u64 {
        self.overridden.as_ref().map_or(0, |overridden| overridden.revision)
    }
}

/// The numbers of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitNumbers {
    /// Attempts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Attempts per time.
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
    /// The numbers that count instead.
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    /// Who set it.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// Another one with every change.
    #[schemars(range(min = 1))]
    pub revision: u64,
}
