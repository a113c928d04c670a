//! A sliding window over what happened: only what is younger than its span counts.
//!
//! It slides with the present and is anchored at nothing, so no boundary lets twice the budget through.

use std::collections::VecDeque;

use crate::time::Timestamp;

/// A window never remembers more instants: a budget beyond it is a mistake, not a need.
pub const WINDOW_KEPT_MAX: usize = 1_024;

/// The instants of the last while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    span_millis: u64,
    instants: VecDeque<Timestamp>,
}

impl Window {
    /// An empty window of that length.
    pub const fn new(span_millis: u64) -> Self {
        Self {
            span_millis,
            instants: VecDeque::new(),
        }
    }

    /// Notes that it happened now, and says how often it did within the window, this time included.
    pub fn record(&mut self, now: Timestamp) -> usize {
        self.forget(now);
        if self.instants.len() >= WINDOW_KEPT_MAX {
            self.instants.pop_front();
        }
        self.instants.push_back(now);
        self.instants.len()
    }

    /// How often it happened within the window.
    pub fn count(&self, now: Timestamp) -> usize {
        self.instants.iter().filter(|at| self.holds(**at, now)).count()
    }

    /// When there will be fewer than `limit` left; `None` when there are already.
    pub fn below(&self, limit: usize, now: Timestamp) -> Option<Timestamp> {
        let inside: Vec<Timestamp> = self
            .instants
            .iter()
            .copied()
            .filter(|at| self.holds(*at, now))
            .collect();
        let leaver = inside.len().checked_sub(limit)?;
        inside.get(leaver).map(|at| at.plus(self.span_millis))
    }

    /// The same instants in a window of another length.
    pub fn resize(&mut self, span_millis: u64) {
        self.span_millis = span_millis;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.instants.clear();
    }

    /// How long ago each was, the oldest first: the form that is kept.
    pub fn ages(&self, now: Timestamp) -> Vec<u64> {
        self.instants
            .iter()
            .filter(|at| self.holds(**at, now))
            .map(|at| now.since(*at))
            .collect()
    }

    /// A window in which it happened so long ago.
    pub fn restored(span_millis: u64, ages: &[u64], now: Timestamp) -> Self {
        let mut instants: Vec<Timestamp> = ages.iter().map(|age| before(now, *age)).collect();
        instants.sort_unstable();
        let surplus = instants.len().saturating_sub(WINDOW_KEPT_MAX);
        Self {
            span_millis,
            instants: instants.split_off(surplus).into(),
        }
    }

    fn holds(&self, at: Timestamp, now: Timestamp) -> bool {
        now.since(at) < self.span_millis
    }

    fn forget(&mut self, now: Timestamp) {
        while self.instants.front().is_some_and(|at| !self.holds(*at, now)) {
            self.instants.pop_front();
        }
    }
}

/// The instant so many milliseconds before.
pub(super) fn before(now: Timestamp, age_millis: u64) -> Timestamp {
    let age = i64::try_from(age_millis).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    // D8, 52.
    #[test]
    fn it_slides_so_no_boundary_lets_twice_the_budget_through() {
        let mut window = Window::new(5 * MINUTE);
        // A window anchored at the first would have started anew at 300 s and counted two.
        for (second, count) in [(0, 1), (290, 2), (295, 3), (299, 4), (301, 4), (302, 5)] {
            assert_eq!(window.record(at(second)), count, "at {second} s");
        }
        assert_eq!(window.count(at(589)), 5);
        assert_eq!(window.count(at(590)), 4);
        assert_eq!(window.count(at(602)), 0);
    }

    #[test]
    fn it_says_when_enough_will_have_left() {
        let mut window = Window::new(1_000);
        for millis in [0, 100, 200] {
            window.record(Timestamp::from_millis(millis));
        }
        let now = Timestamp::from_millis(300);
        assert_eq!(window.below(3, now), Some(Timestamp::from_millis(1_000)));
        assert_eq!(window.below(1, now), Some(Timestamp::from_millis(1_200)));
        assert_eq!(window.below(4, now), None);
    }

    #[test]
    fn what_is_kept_are_ages_so_another_clock_moves_nothing() {
        let mut window = Window::new(5 * MINUTE);
        window.record(at(10));
        window.record(at(40));
        let ages = window.ages(at(50));
        assert_eq!(ages, [40_000, 10_000]);
        let elsewhere = Window::restored(5 * MINUTE, &ages, at(9_000));
        assert_eq!(elsewhere.count(at(9_000)), 2);
        assert_eq!(elsewhere.count(at(9_000 + 260)), 1);
    }

    #[test]
    fn it_remembers_no_more_than_its_bound() {
        let mut window = Window::new(u64::MAX);
        for _ in 0..2 * WINDOW_KEPT_MAX {
            window.record(at(1));
        }
        assert_eq!(window.count(at(1)), WINDOW_KEPT_MAX);
    }
}
