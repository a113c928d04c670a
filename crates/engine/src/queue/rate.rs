//! Token buckets: so many attempts per time, with no timer running while no attempt asks.

use sprag_core::action::Rate;
use sprag_core::time::Timestamp;

/// What is left of a rate. Tokens are counted in thousandths, so that slow rates refill smoothly.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    thousandths: u64,
    at: Timestamp,
}

const WHOLE: u64 = 1_000;

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(rate: Rate, now: Timestamp) -> Self {
        Self {
            rate,
            thousandths: u64::from(rate.count) * WHOLE,
            at: now,
        }
    }

    /// Takes a token, or says when there will be one.
    pub(crate) fn take(&mut self, rate: Rate, now: Timestamp) -> Result<(), Timestamp> {
        self.refill(rate, now);
        if self.thousandths >= WHOLE {
            self.thousandths -= WHOLE;
            return Ok(());
        }
        let missing = u128::from(WHOLE - self.thousandths);
        let per_token = u128::from(self.rate.per_millis).max(1);
        let wait = (missing * per_token).div_ceil(u128::from(self.rate.count.max(1)) * u128::from(WHOLE));
        Err(now.plus(u64::try_from(wait).unwrap_or(u64::MAX).max(1)))
    }

    /// Whether a token is there.
    pub(crate) fn peek(&mut self, rate: Rate, now: Timestamp) -> Result<(), Timestamp> {
        self.take(rate, now)?;
        self.thousandths += WHOLE;
        Ok(())
    }

    /// The rate counts from now on: what it has room for beyond the old one is there at once.
    pub(crate) fn widen(&mut self, rate: Rate) {
        let more = u64::from(rate.count.saturating_sub(self.rate.count));
        self.thousandths = self.thousandths.saturating_add(more * WHOLE);
        self.rate = rate;
    }

    fn refill(&mut self, rate: Rate, now: Timestamp) {
        self.rate = rate;
        let full = u64::from(rate.count) * WHOLE;
        let elapsed = u128::from(now.since(self.at));
        let gained = elapsed * u128::from(rate.count) * u128::from(WHOLE) / u128::from(rate.per_millis.max(1));
        if gained > 0 || self.thousandths > full {
            self.thousandths = self
                .thousandths
                .saturating_add(u64::try_from(gained).unwrap_or(u64::MAX))
                .min(full);
            self.at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_bucket_gives_its_count_and_then_says_when() {
        let rate = Rate {
            count: 2,
            per_millis: 1_000,
        };
        let mut bucket = Bucket::new(rate, at(0));
        assert_eq!(bucket.take(rate, at(0)), Ok(()));
        assert_eq!(bucket.take(rate, at(0)), Ok(()));
        assert_eq!(bucket.take(rate, at(0)), Err(at(500)));
        assert_eq!(bucket.take(rate, at(500)), Ok(()));
        assert_eq!(bucket.take(rate, at(500)), Err(at(1_000)));
    }

    #[test]
    fn over_any_stretch_no_more_than_the_rate_and_one_burst() {
        let rate = Rate {
            count: 5,
            per_millis: 1_000,
        };
        let mut bucket = Bucket::new(rate, at(0));
        let taken = (0..10_000)
            .filter(|&millis| bucket.take(rate, at(millis)).is_ok())
            .count();
        assert!((54..=55).contains(&taken), "{taken}");
    }
}
