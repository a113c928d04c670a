//! How many attempts of each type started in the last minute.
//!
//! Counted second by second, so it takes a fixed amount of memory for each type, whatever the rate.

use std::collections::BTreeMap;

use sprag_core::time::Timestamp;

/// The length of the window in seconds.
const SECONDS: usize = 60;
/// Types that are counted; more are not.
const TYPES_MAX: usize = 1_000;

/// Starts by type.
#[derive(Debug, Default)]
pub(crate) struct RecentStarts {
    types: BTreeMap<String, Window>,
}

/// The starts of one type.
#[derive(Debug)]
struct Window {
    /// The newest second that was counted.
    newest: i64,
    /// Starts of the last [`SECONDS`] seconds, each at its second modulo that.
    counts: [u32; SECONDS],
}

impl RecentStarts {
    /// An attempt of this type started.
    pub(crate) fn add(&mut self, kind: &str, now: Timestamp) {
        let second = second(now);
        if let Some(window) = self.types.get_mut(kind) {
            return window.add(second);
        }
        if self.types.len() >= TYPES_MAX {
            self.types.retain(|_, window| window.sum(second) > 0);
        }
        if self.types.len() < TYPES_MAX {
            let mut window = Window {
                newest: second,
                counts: [0; SECONDS],
            };
            window.add(second);
            self.types.insert(kind.to_owned(), window);
        }
    }

    /// The starts of each type in the last minute, if there were any.
    pub(crate) fn all(&self, now: Timestamp) -> impl Iterator<Item = (&str, u64)> {
        let second = second(now);
        let sums = self
            .types
            .iter()
            .map(move |(kind, window)| (kind.as_str(), window.sum(second)));
        sums.filter(|(_, sum)| *sum > 0)
    }
}

impl Window {
    fn add(&mut self, second: i64) {
        // A clock that steps back counts for the newest second.
        let passed = usize::try_from(second.saturating_sub(self.newest)).unwrap_or(0);
        for offset in 1..=passed.min(SECONDS) {
            let cleared = self.newest.saturating_add(i64::try_from(offset).unwrap_or(0));
            self.counts[slot(cleared)] = 0;
        }
        if passed > SECONDS {
            self.counts = [0; SECONDS];
        }
        self.newest = self.newest.max(second);
        let count = &mut self.counts[slot(self.newest)];
        *count = count.saturating_add(1);
    }

    fn sum(&self, now: i64) -> u64 {
        let passed = usize::try_from(now.saturating_sub(self.newest)).unwrap_or(0);
        let within = SECONDS.saturating_sub(passed);
        let seconds = (0..within).map(|back| self.newest.saturating_sub(i64::try_from(back).unwrap_or(0)));
        seconds.map(|second| u64::from(self.counts[slot(second)])).sum()
    }
}

fn second(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1_000)
}

fn slot(second: i64) -> usize {
    let seconds = i64::try_from(SECONDS).unwrap_or(1);
    usize::try_from(second.rem_euclid(seconds)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000 + 5)
    }

    fn counted(starts: &RecentStarts, seconds: i64) -> Vec<(String, u64)> {
        let all = starts.all(at(seconds));
        all.map(|(kind, count)| (kind.to_owned(), count)).collect()
    }

    #[test]
    fn starts_count_for_a_minute_and_not_longer() {
        let mut starts = RecentStarts::default();
        for second in [0, 0, 1, 30, 59] {
            starts.add("webhook", at(second));
        }
        starts.add("email", at(59));
        let both = |email, webhook| vec![("email".to_owned(), email), ("webhook".to_owned(), webhook)];
        assert_eq!(counted(&starts, 59), both(1, 5));
        assert_eq!(counted(&starts, 60), both(1, 3), "those of second 0 are over");
        starts.add("webhook", at(61));
        assert_eq!(counted(&starts, 61), both(1, 3));
        assert_eq!(counted(&starts, 118), both(1, 2));
        assert_eq!(counted(&starts, 119), [("webhook".to_owned(), 1)]);
        assert_eq!(counted(&starts, 1_000), []);
    }

    #[test]
    fn a_long_pause_leaves_nothing_behind() {
        let mut starts = RecentStarts::default();
        (0..60).for_each(|second| starts.add("webhook", at(second)));
        starts.add("webhook", at(500));
        assert_eq!(counted(&starts, 500), [("webhook".to_owned(), 1)]);
    }

    #[test]
    fn a_type_that_is_over_makes_room_for_another() {
        let mut starts = RecentStarts::default();
        for number in 0..=TYPES_MAX {
            starts.add(&number.to_string(), at(0));
        }
        assert_eq!(starts.types.len(), TYPES_MAX);
        starts.add("new", at(100));
        assert_eq!(counted(&starts, 100), [("new".to_owned(), 1)]);
    }
}
