//! How long to rest after the nth try: doubling, capped, and back to the start only after lasting health.

use crate::ids::scatter;
use crate::time::Timestamp;

/// The first rest, in milliseconds.
pub const REST_BASE_MILLIS: u64 = 1_000;
/// No rest is longer, in milliseconds.
pub const REST_MAX_MILLIS: u64 = 60_000;
/// The exponent is forgotten after so much continuous health, in milliseconds.
pub const STABLE_AFTER_MILLIS: u64 = 60_000;
/// Jitter moves a rest by at most a tenth of it, either way.
const JITTER_PARTS: u64 = 10;

/// How rests grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestSchedule {
    /// The first, in milliseconds.
    pub base_millis: u64,
    /// The longest, in milliseconds.
    pub max_millis: u64,
    /// After so much continuous health the next rest is the first again, in milliseconds.
    pub stable_after_millis: u64,
    /// Whether rests are spread by a tenth either way, by a hash of this seed and the number.
    pub jitter: Option<u64>,
}

impl Default for RestSchedule {
    fn default() -> Self {
        Self {
            base_millis: REST_BASE_MILLIS,
            max_millis: REST_MAX_MILLIS,
            stable_after_millis: STABLE_AFTER_MILLIS,
            jitter: None,
        }
    }
}

impl RestSchedule {
    /// The rest after try `number`, from 1: `min(max, base · 2^(number − 1))`.
    pub fn rest(&self, number: u32) -> u64 {
        let doublings = number.saturating_sub(1);
        let grown = if doublings >= u64::BITS {
            u64::MAX
        } else {
            self.base_millis.saturating_mul(1_u64 << doublings)
        };
        let capped = grown.min(self.max_millis);
        match self.jitter {
            Some(seed) => spread(capped, seed, number),
            None => capped,
        }
    }
}

/// Takes `rest` × (0.9 … 1.1).
fn spread(rest: u64, seed: u64, number: u32) -> u64 {
    let width = rest / (JITTER_PARTS / 2);
    let hash = scatter(seed ^ scatter(u64::from(number)));
    let part = (u128::from(width) * u128::from(hash)) >> 64;
    (rest - rest / JITTER_PARTS).saturating_add(u64::try_from(part).unwrap_or(0))
}

/// How many tries in a row there were, and since when all is well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    streak: u32,
    healthy_since: Option<Timestamp>,
}

impl Rest {
    /// Before the first try.
    pub const NONE: Self = Self {
        streak: 0,
        healthy_since: None,
    };

    /// Another try; the rest that follows it, in milliseconds.
    pub fn again(&mut self, schedule: &RestSchedule, now: Timestamp) -> u64 {
        self.settle(schedule, now);
        self.healthy_since = None;
        self.streak = self.streak.saturating_add(1);
        schedule.rest(self.streak)
    }

    /// All is well now. "Started" is not health: only a good check is.
    pub fn healthy(&mut self, schedule: &RestSchedule, now: Timestamp) {
        self.healthy_since.get_or_insert(now);
        self.settle(schedule, now);
    }

    /// Health is broken or cannot be told.
    pub fn unwell(&mut self, schedule: &RestSchedule, now: Timestamp) {
        self.settle(schedule, now);
        self.healthy_since = None;
    }

    /// Tries in a row.
    pub fn streak(&self) -> u32 {
        self.streak
    }

    /// Since when all is well.
    pub fn healthy_since(&self) -> Option<Timestamp> {
        self.healthy_since
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// As it was kept.
    pub fn restored(streak: u32, healthy_since: Option<Timestamp>) -> Self {
        Self { streak, healthy_since }
    }

    fn settle(&mut self, schedule: &RestSchedule, now: Timestamp) {
        let stable = |since| now.since(since) >= schedule.stable_after_millis;
        if self.healthy_since.is_some_and(stable) {
            self.streak = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    // D1, 50.
    #[test]
    fn rests_double_from_the_base_and_stay_at_the_cap() {
        let schedule = RestSchedule::default();
        let rests: Vec<u64> = (1..=8).map(|number| schedule.rest(number)).collect();
        assert_eq!(rests, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(schedule.rest(100), 60_000);
        assert_eq!(schedule.rest(u32::MAX), 60_000);
        assert_eq!(schedule.rest(0), 1_000);
    }

    #[test]
    fn jitter_stays_within_a_tenth_and_is_the_same_every_time() {
        let plain = RestSchedule::default();
        for seed in 0..200 {
            let schedule = RestSchedule {
                jitter: Some(seed),
                ..plain
            };
            for number in 1..10 {
                let (rest, around) = (schedule.rest(number), plain.rest(number));
                assert!(rest >= around - around / 10 && rest <= around + around / 10);
                assert_eq!(rest, schedule.rest(number));
            }
        }
    }

    // D3.
    #[test]
    fn a_single_good_check_resets_nothing_but_a_minute_of_health_does() {
        let schedule = RestSchedule::default();
        let mut rest = Rest::default();
        assert_eq!(rest.again(&schedule, at(0)), 1_000);
        rest.healthy(&schedule, at(2));
        assert_eq!(rest.again(&schedule, at(3)), 2_000);
        rest.healthy(&schedule, at(6));
        rest.healthy(&schedule, at(65));
        assert_eq!(rest.again(&schedule, at(65)), 4_000);
        rest.healthy(&schedule, at(70));
        assert_eq!(rest.again(&schedule, at(130)), 1_000);
    }
}
