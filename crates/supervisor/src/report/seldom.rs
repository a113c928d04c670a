//! Limits repeated log lines: an error that comes with every tick is logged once a minute, not ten times a second.

use std::collections::HashMap;
use std::sync::Arc;

use sprag_core::time::Timestamp;

/// The same words about the same worker are said again after so long, in milliseconds.
const AGAIN_AFTER_MILLIS: u64 = 60_000;
/// Workers whose words are remembered; beyond it everything is said.
const WORKERS_MAX: usize = 65_536;

/// What was said last about whom. Only looked up, never walked.
#[derive(Debug, Default)]
pub(crate) struct Seldom(HashMap<Arc<str>, (String, Timestamp)>);

impl Seldom {
    /// Whether it is to be said now.
    pub(crate) fn says(&mut self, worker: &Arc<str>, words: &str, now: Timestamp) -> bool {
        let same = |(said, at): &(String, Timestamp)| said == words && now.since(*at) < AGAIN_AFTER_MILLIS;
        if self.0.get(worker).is_some_and(same) {
            return false;
        }
        if self.0.len() < WORKERS_MAX || self.0.contains_key(worker) {
            self.0.insert(Arc::clone(worker), (words.to_owned(), now));
        }
        true
    }

    /// The worker is gone.
    pub(crate) fn forget(&mut self, worker: &str) {
        self.0.remove(worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 70.
    #[test]
    fn the_same_error_is_said_once_a_minute_and_another_at_once() {
        let (mut seldom, worker) = (Seldom::default(), Arc::from("a"));
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        assert!(seldom.says(&worker, "x", at(0)));
        assert!(!seldom.says(&worker, "x", at(59)));
        assert!(seldom.says(&worker, "x", at(60)));
        assert!(seldom.says(&worker, "y", at(61)));
        assert!(seldom.says(&Arc::from("b"), "y", at(61)));
    }
}
