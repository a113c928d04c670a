//! Limits under a key: what definitions say, and an operator's override of it.

pub use sprag_wire::{Limit as LimitView, LimitNumbers as Numbers, LimitOverride as Override};

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

impl LimitKey {
    /// As the API shows it under its key.
    pub(crate) fn shown(self, key: &str, overridden: Option<Override>) -> LimitView {
        let Self {
            definitions,
            running,
            waiting,
            more,
        } = self;
        LimitView {
            key: key.to_owned(),
            definitions,
            overridden,
            running,
            waiting,
            more,
        }
    }
}

/// Combinations of numbers that are shown for one key.
const DEFINITIONS_MAX: usize = 8;

/// Adds what a definition says, once, up to a bound.
pub(crate) fn define(definitions: &mut Vec<Numbers>, numbers: Numbers) {
    if numbers != Numbers::default() && definitions.len() < DEFINITIONS_MAX && !definitions.contains(&numbers) {
        definitions.push(numbers);
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::action::Rate;
    use sprag_core::time::Timestamp;

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
