//! Why operations failed: each reason with its count. Bounded, whatever a target answers.

use std::collections::BTreeMap;

/// Reasons that are told apart; the others are counted together.
const REASONS_MAX: usize = 16;
/// Characters of a reason.
const CHARACTERS_MAX: usize = 160;
/// What stands for the reasons beyond the bound.
const OTHERS: &str = "other reasons";

/// Reasons with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(BTreeMap<String, u64>);

impl Failures {
    /// Counts a reason so many times.
    pub fn count(&mut self, reason: &str, times: u64) {
        let reason: String = reason.chars().take(CHARACTERS_MAX).collect();
        if let Some(known) = self.0.get_mut(&reason) {
            *known += times;
            return;
        }
        let name = if self.0.len() < REASONS_MAX {
            reason
        } else {
            OTHERS.to_owned()
        };
        *self.0.entry(name).or_default() += times;
    }

    /// Adds everything that `other` counted.
    pub fn add(&mut self, other: &Self) {
        for (reason, times) in &other.0 {
            self.count(reason, *times);
        }
    }

    /// Reasons with their counts, the most frequent first.
    pub fn most_frequent(&self) -> Vec<(&str, u64)> {
        let mut reasons: Vec<(&str, u64)> = self.0.iter().map(|(reason, times)| (reason.as_str(), *times)).collect();
        reasons.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        reasons
    }
}
