//! How fast a job goes: so many letters a second, by due times.
//!
//! The next due time is stored with what was done, so a crash neither speeds a job up nor lets it forget its pace. What
//! was missed (a pause, a server that was down) is caught up only for a moment.

use serde::{Deserialize, Serialize};
use sprag_core::time::Timestamp;

use super::STEP_ITEMS;

/// The most letters a second.
pub const RATE_MAX: u32 = 10_000;
/// How much of the missed time is caught up, in microseconds.
const CATCH_UP_MICROS: i64 = 200_000;
/// Steps a second, at most: what is due meanwhile is done together.
const STEPS_PER_SECOND: u32 = 50;

/// So many a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pace {
    /// Letters a second.
    pub(crate) rate: u32,
    /// When the next letter is due, in microseconds since 1970.
    next_micros: i64,
}

impl Pace {
    /// From now on.
    pub(crate) fn new(rate: u32, now: Timestamp) -> Self {
        Self {
            rate: rate.clamp(1, RATE_MAX),
            next_micros: micros(now),
        }
    }

    fn interval(&self) -> i64 {
        1_000_000 / i64::from(self.rate.max(1))
    }

    /// When the lateness that may be caught up begins.
    fn begins(&self, now: Timestamp) -> i64 {
        self.next_micros.max(micros(now).saturating_sub(CATCH_UP_MICROS))
    }

    /// How many letters may be retried now.
    pub(crate) fn room(&self, now: Timestamp) -> usize {
        let late = micros(now).saturating_sub(self.begins(now));
        if late < 0 {
            return 0;
        }
        usize::try_from(late / self.interval() + 1).unwrap_or(0).min(STEP_ITEMS)
    }

    /// So many were.
    pub(crate) fn take(&mut self, letters: usize, now: Timestamp) {
        let letters = i64::try_from(letters).unwrap_or(i64::MAX);
        self.next_micros = self.begins(now).saturating_add(self.interval().saturating_mul(letters));
    }

    /// When the next step is worth taking.
    pub(crate) fn due(&self) -> Timestamp {
        let together = i64::from(self.rate / STEPS_PER_SECOND).clamp(1, i64::try_from(STEP_ITEMS).unwrap_or(1));
        let micros = self.next_micros.saturating_add(self.interval() * (together - 1));
        Timestamp::from_millis(micros.saturating_add(999) / 1_000)
    }
}

fn micros(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    /// Letters in a stretch of time, each step taken when it is due.
    fn done(rate: u32, millis: u64) -> usize {
        let mut pace = Pace::new(rate, START);
        let end = START.plus(millis);
        let mut all = 0;
        while pace.due() < end {
            let now = pace.due();
            let room = pace.room(now);
            assert!(room > 0, "what is due has room");
            all += room;
            pace.take(room, now);
        }
        all
    }

    #[test]
    fn the_rate_is_kept_over_any_stretch_of_time() {
        for rate in [1, 3, 50, 777, 3_000] {
            let wanted = usize::try_from(rate).unwrap() * 10;
            let all = done(rate, 10_000);
            assert!(all.abs_diff(wanted) <= wanted / 50 + 1, "{rate}: {all} of {wanted}");
        }
    }

    #[test]
    fn time_that_was_missed_is_caught_up_for_a_moment_only() {
        let pace = Pace::new(100, START);
        assert_eq!(pace.room(START), 1);
        assert_eq!(pace.room(START.plus(3_600_000)), 21, "a fifth of a second");
        let mut taken = pace;
        taken.take(21, START.plus(3_600_000));
        assert_eq!(taken.room(START.plus(3_600_000)), 0);
        assert!(taken.due() > START.plus(3_600_000));
    }
}
