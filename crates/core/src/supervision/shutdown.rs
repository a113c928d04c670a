//! The budget of a shutdown: children before parents, each level with its share, one deadline for all.
//!
//! What a level does not use, the levels above it have too: deadlines add up from the leaves. A level that is never
//! reached because those below it used everything differs from one that was too slow itself.

use serde::Serialize;

use crate::time::Timestamp;

/// How long a level may take, in milliseconds.
pub const LEVEL_MILLIS: u64 = 10_000;
/// What a longer stop grace gets on top of itself, in milliseconds.
pub const GRACE_MARGIN_MILLIS: u64 = 1_000;
/// Handing over between levels takes a moment that no level causes, in milliseconds.
pub const JOIN_MILLIS: u64 = 100;

/// Why something did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShutdownFault {
    /// It had its time and did not use it.
    Timeout,
    /// Those below it used all the time there was.
    BudgetExhausted,
    /// Something of it may be up, and no worker was there to stop it.
    Unasked,
}

/// When each level must be done, counted from the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownPlan {
    deadlines: Vec<Timestamp>,
}

impl ShutdownPlan {
    /// A plan that starts now. `graces` has for each height, leaves first, the longest stop grace there.
    pub fn new(now: Timestamp, level_millis: u64, graces: &[Option<u64>]) -> Self {
        let mut at = now;
        let deadlines = graces
            .iter()
            .map(|grace| {
                at = at.plus(level_budget(level_millis, *grace));
                at
            })
            .collect();
        Self { deadlines }
    }

    /// The same, never later than `limit`.
    #[must_use]
    pub fn within(mut self, limit: Timestamp) -> Self {
        for deadline in &mut self.deadlines {
            *deadline = (*deadline).min(limit);
        }
        self
    }

    /// When a worker of that height (0: a leaf) must be gone.
    pub fn deadline(&self, height: usize) -> Option<Timestamp> {
        self.deadlines.get(height).or(self.deadlines.last()).copied()
    }

    /// When everything must be.
    pub fn last(&self) -> Option<Timestamp> {
        self.deadlines.last().copied()
    }

    /// Whether a worker is to be cut now, and why. `free_since`: since when no worker below it is left.
    pub fn cut(&self, now: Timestamp, height: usize, free_since: Option<Timestamp>) -> Option<ShutdownFault> {
        let deadline = self.deadline(height)?;
        if now < deadline {
            return None;
        }
        match free_since {
            Some(since) if since.plus(JOIN_MILLIS) < deadline => Some(ShutdownFault::Timeout),
            _ => Some(ShutdownFault::BudgetExhausted),
        }
    }
}

/// What one level gets.
pub fn level_budget(level_millis: u64, grace: Option<u64>) -> u64 {
    match grace {
        Some(grace) if grace > level_millis => grace.saturating_add(GRACE_MARGIN_MILLIS),
        _ => level_millis,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    // 72.
    #[test]
    fn a_level_may_use_what_those_below_it_left() {
        let plan = ShutdownPlan::new(at(0), LEVEL_MILLIS, &[None; 3]);
        assert_eq!(plan.last(), Some(at(30)));
        // The leaf is gone at once; the middle takes 11 s of its 10 s and of the 10 s that were left.
        assert_eq!(plan.cut(at(11), 1, Some(at(0))), None);
        assert_eq!(plan.cut(at(10), 0, Some(at(0))), Some(ShutdownFault::Timeout));
    }

    // 73.
    #[test]
    fn who_was_never_reached_is_not_blamed() {
        let plan = ShutdownPlan::new(at(0), LEVEL_MILLIS, &[None; 2]).within(at(10));
        assert_eq!(plan.cut(at(10), 1, None), Some(ShutdownFault::BudgetExhausted));
        assert_eq!(plan.cut(at(10), 1, Some(at(3))), Some(ShutdownFault::Timeout));
        let joined = Timestamp::from_millis(9_950);
        assert_eq!(plan.cut(at(10), 1, Some(joined)), Some(ShutdownFault::BudgetExhausted));
    }

    #[test]
    fn a_longer_stop_grace_gets_itself_and_a_second() {
        let plan = ShutdownPlan::new(at(0), LEVEL_MILLIS, &[Some(30_000), Some(3_000)]);
        assert_eq!(plan.deadline(0), Some(at(31)));
        assert_eq!(plan.deadline(1), Some(at(41)));
        assert_eq!(plan.deadline(9), Some(at(41)));
    }
}
