//! Limits under a key, and an operator's word over what definitions say.

use serde::{Deserialize, Serialize};
use sprag_core::action::{LimitUse, Rate};
use sprag_core::time::Timestamp;

/// The numbers of a limit. What is not given is as the definitions say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Numbers {
    /// Attempts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Attempts per time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl From<&LimitUse> for Numbers {
    fn from(limit: &LimitUse) -> Self {
        Self {
            concurrency: limit.concurrency,
            rate: limit.rate,
        }
    }
}

/// An operator's override, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// What counts instead.
    #[serde(flatten)]
    pub numbers: Numbers,
    /// Who said so.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// Another one with every change.
    pub revision: u64,
}

/// What is limited under a key, as the dispatcher knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitKey {
    /// What actions that wait say, each combination once.
    pub definitions: Vec<Numbers>,
    /// Attempts under way.
    pub running: usize,
    /// Actions that wait, as far as they are in memory.
    pub waiting: usize,
    /// Whether the store holds more of them.
    pub more: bool,
}

/// A limited key as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitView {
    /// The key.
    pub key: String,
    /// What definitions in use say, each combination once.
    pub definitions: Vec<Numbers>,
    /// What an operator said instead.
    #[serde(rename = "override")]
    pub overridden: Option<Override>,
    /// Attempts under way.
    pub running: usize,
    /// Actions that wait, as far as they are in memory.
    pub waiting: usize,
    /// Whether the store holds more of them.
    pub more: bool,
}

impl LimitView {
    /// A key with what is known of it.
    pub(crate) fn of(key: &str, known: LimitKey, overridden: Option<Override>) -> Self {
        let LimitKey {
            definitions,
            running,
            waiting,
            more,
        } = known;
        Self {
            key: key.to_owned(),
            definitions,
            overridden,
            running,
            waiting,
            more,
        }
    }

    /// For `If-Match`: 0 without an override.
    pub fn revision(&self) -> u64 {
        self.overridden.as_ref().map_or(0, |overridden| overridden.revision)
    }

    /// Adds what a definition says, once, up to a bound.
    pub(crate) fn define(&mut self, numbers: Numbers) {
        define(&mut self.definitions, numbers);
    }
}

/// Combinations of numbers that are shown for one key.
const DEFINITIONS_MAX: usize = 8;

pub(crate) fn define(definitions: &mut Vec<Numbers>, numbers: Numbers) {
    if numbers != Numbers::default() && definitions.len() < DEFINITIONS_MAX && !definitions.contains(&numbers) {
        definitions.push(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_stored_and_read_in_the_bytes_that_it_always_had() {
        let rate = Rate {
            count: 5,
            per_millis: 1_000,
        };
        let overridden = |concurrency, rate| Override {
            numbers: Numbers { concurrency, rate },
            by: "who".to_owned(),
            since: Timestamp::from_millis(1_767_225_600_000),
            revision: 7,
        };
        for (overridden, bytes) in [
            (
                overridden(Some(0), Some(rate)),
                r#"{"concurrency":0,"rate":{"count":5,"per":1000},"by":"who","since":"2026-01-01T00:00:00.000Z","revision":7}"#,
            ),
            (
                overridden(None, None),
                r#"{"by":"who","since":"2026-01-01T00:00:00.000Z","revision":7}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&overridden).unwrap(), bytes);
            assert_eq!(serde_json::from_str::<Override>(bytes).unwrap(), overridden);
        }
    }
}
