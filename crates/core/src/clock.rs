//! Time for those who may ask for it: the engine's edges, never its decisions.
//!
//! Engine time is the wall clock sampled at start plus monotonic time elapsed since, so it never runs backwards within
//! a process; a wall clock that jumped forwards is adopted by the owner of the clock, never followed back. Nodes that share
//! a database keep to the database's clock instead: see [`System::follow`].

use std::sync::atomic::{AtomicI64, Ordering};

use crate::time::Timestamp;

/// A source of engine time.
pub trait Clock: Send + Sync {
    /// The present instant; never before one already given.
    fn now(&self) -> Timestamp;

    /// Microseconds since some instant, never backwards: only to measure how long something took. Decisions never see
    /// them, so a clock that stands may leave them to its milliseconds.
    fn micros(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(0).saturating_mul(1_000)
    }
}

/// A clock that stands until it is moved: for tests and the simulator.
#[derive(Debug, Default)]
pub struct Manual(AtomicI64);

impl Manual {
    /// A clock standing at `at`.
    pub fn new(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.as_millis()))
    }

    /// Moves the clock to `at`, unless it is already later.
    pub fn advance_to(&self, at: Timestamp) {
        self.0.fetch_max(at.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for Manual {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(feature = "system-clock")]
pub use system::System;

#[cfg(feature = "system-clock")]
#[expect(
    clippy::disallowed_methods,
    reason = "the workspace's one place that reads the clock"
)]
mod system {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    use super::Clock;
    use crate::time::Timestamp;

    /// A wall step below this is left to the monotonic clock.
    const STEP_MIN_MILLIS: i64 = 2_000;

    /// The machine's clock: wall time at start plus monotonic time since.
    #[derive(Debug)]
    pub struct System {
        started: Instant,
        base: AtomicI64,
        /// The latest instant given: where the base goes back, time stands until it has caught up.
        latest: AtomicI64,
    }

    /// Another clock is more than two seconds from engine time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Jump {
        /// How far, in milliseconds: one that went ahead was adopted, one that is behind (negative) was not followed.
        pub millis: i64,
    }

    impl System {
        /// Samples the wall clock, but starts no earlier than `floor`, the latest instant the store knows.
        pub fn start(floor: Timestamp) -> Self {
            Self::start_at(Timestamp::from_millis(wall()).max(floor))
        }

        /// Starts where another clock is, whatever the wall clock says.
        pub fn start_at(at: Timestamp) -> Self {
            Self {
                started: Instant::now(),
                base: AtomicI64::new(at.as_millis()),
                latest: AtomicI64::new(at.as_millis()),
            }
        }

        /// Keeps to another clock, which showed an instant at some time between `asked` and now. Goes ahead where it is
        /// behind, and stands for a moment where it is ahead; a clock that is more than two seconds behind is left alone.
        pub fn follow(&self, shown: Timestamp, asked: Timestamp) -> Option<Jump> {
            let ahead = shown.as_millis() - self.now().as_millis();
            let behind = asked.as_millis() - shown.as_millis();
            let millis = if ahead > 0 { ahead } else { -behind.max(0) };
            if millis >= -STEP_MIN_MILLIS {
                self.base.fetch_add(millis, Ordering::SeqCst);
            }
            (millis.abs() > STEP_MIN_MILLIS).then_some(Jump { millis })
        }

        /// Adopts a wall clock that stepped forwards by more than two seconds; a step back is never followed.
        pub fn adopt_wall(&self) -> Option<Jump> {
            let millis = wall() - self.now().as_millis();
            if millis <= STEP_MIN_MILLIS {
                return None;
            }
            self.base.fetch_add(millis, Ordering::SeqCst);
            Some(Jump { millis })
        }

        /// Monotonic time since the clock started.
        pub fn elapsed(&self) -> std::time::Duration {
            self.started.elapsed()
        }
    }

    impl Clock for System {
        fn now(&self) -> Timestamp {
            let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
            let now = self.base.load(Ordering::SeqCst).saturating_add(elapsed);
            Timestamp::from_millis(self.latest.fetch_max(now, Ordering::SeqCst).max(now))
        }

        fn micros(&self) -> u64 {
            u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
        }
    }

    fn wall() -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const HOUR: i64 = 3_600_000;

        fn at(millis: i64) -> Timestamp {
            Timestamp::from_millis(millis)
        }

        #[test]
        fn a_clock_that_is_ahead_is_adopted_and_only_a_step_is_told() {
            let clock = System::start_at(at(HOUR));
            let asked = clock.now();
            assert_eq!(clock.follow(asked.plus(1_000), asked), None);
            assert!(clock.now() >= asked.plus(1_000));
            let asked = clock.now();
            let jump = clock.follow(asked.plus(9_000), asked).unwrap();
            assert!((8_000..=9_000).contains(&jump.millis), "{jump:?}");
            assert!(clock.now() >= asked.plus(9_000));
        }

        #[test]
        fn a_clock_that_is_behind_is_waited_for_and_time_never_goes_back() {
            let clock = System::start_at(at(HOUR));
            let asked = clock.now();
            assert_eq!(clock.follow(at(asked.as_millis() - 1_500), asked), None);
            assert!(clock.now() >= asked);
            // It stands now, so another reading of the same clock, a little later, is behind no more.
            assert_eq!(clock.base.load(Ordering::SeqCst), HOUR - 1_500);
            let jump = clock.follow(at(HOUR - 60_000), clock.now()).unwrap();
            assert!(jump.millis <= -60_000 + 1_500, "{jump:?}");
            assert_eq!(
                clock.base.load(Ordering::SeqCst),
                HOUR - 1_500,
                "so far behind is not followed"
            );
        }

        #[test]
        fn what_was_shown_while_the_question_was_under_way_changes_nothing() {
            let clock = System::start_at(at(HOUR));
            let asked = clock.now();
            assert_eq!(clock.follow(asked, asked), None);
            assert_eq!(clock.base.load(Ordering::SeqCst), HOUR);
        }
    }
}
