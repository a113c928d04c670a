//! Time for those who may ask for it: the engine's edges, never its decisions.
//!
//! Engine time is the wall clock sampled at start plus monotonic time elapsed since, so it never runs backwards within
//! a process; a wall clock that jumped forwards is adopted by the owner of the clock, never followed back. Where several
//! nodes share a database, its time takes the place of the wall clock's, so that they agree whatever their own clocks say.

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

    /// What the clock on the wall says, which may run backwards: for a caller that compares it with other clocks. A clock that
    /// follows a store's time has no other.
    fn wall(&self) -> Timestamp {
        self.now()
    }

    /// Follows the time of a store that many share, as of an answer that has just come. The first sets the clock, forwards
    /// or back, because nothing was decided before it; later ones only set it forwards. Says how far it moved, in
    /// milliseconds, if that is worth a word.
    fn follow(&self, store: Timestamp) -> Option<i64> {
        let _ = store;
        None
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
    use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
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
        /// The latest instant that was known before it started.
        floor: Timestamp,
        /// A store's time counts, not the wall clock's.
        follows: AtomicBool,
    }

    /// The wall clock went ahead of engine time and was adopted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Jump {
        /// How far, in milliseconds.
        pub millis: i64,
    }

    impl System {
        /// Samples the wall clock, but starts no earlier than `floor`, the latest instant the store knows.
        pub fn start(floor: Timestamp) -> Self {
            Self {
                started: Instant::now(),
                base: AtomicI64::new(wall().max(floor.as_millis())),
                floor,
                follows: AtomicBool::new(false),
            }
        }

        /// Adopts a wall clock that stepped forwards by more than two seconds; a step back is never followed. A clock that
        /// follows a store's time does not look at the wall any more.
        pub fn adopt_wall(&self) -> Option<Jump> {
            if self.follows.load(Ordering::SeqCst) {
                return None;
            }
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
            let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            Timestamp::from_millis(self.base.load(Ordering::SeqCst)).plus(elapsed)
        }

        fn micros(&self) -> u64 {
            u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
        }

        fn wall(&self) -> Timestamp {
            if self.follows.load(Ordering::SeqCst) {
                self.now()
            } else {
                Timestamp::from_millis(wall())
            }
        }

        fn follow(&self, store: Timestamp) -> Option<i64> {
            let is_first = !self.follows.swap(true, Ordering::SeqCst);
            let store = store.max(self.floor).as_millis();
            let millis = store - self.now().as_millis();
            if is_first || millis > 0 {
                self.base.fetch_add(millis, Ordering::SeqCst);
                return (millis.abs() > STEP_MIN_MILLIS).then_some(millis);
            }
            None
        }
    }

    /// A clock beyond the last instant that can be written shows that one: what is stored must be readable afterwards.
    fn wall() -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        millis.min(Timestamp::MAX.as_millis())
    }
}

#[cfg(all(test, feature = "system-clock"))]
mod tests {
    use super::*;

    #[test]
    fn a_store_sets_a_clock_once_in_either_direction_and_later_only_forwards() {
        let floor = Timestamp::from_millis(1_000);
        let clock = System::start(floor);
        let wall = clock.now();
        let hour = 3_600_000;
        let behind = Timestamp::from_millis(wall.as_millis() - hour);
        assert!(clock.follow(behind).is_some_and(|millis| millis < -hour + 2_000));
        assert!(clock.now() < wall, "nothing was decided before");
        assert_eq!(clock.adopt_wall(), None, "the wall does not count any more");
        let before = clock.now();
        assert_eq!(clock.follow(Timestamp::from_millis(behind.as_millis() - hour)), None);
        assert!(clock.now() >= before, "never back");
        assert!(clock.follow(wall.plus(3_600_000)).is_some());
        assert!(clock.now() >= wall.plus(3_600_000));
    }

    #[test]
    fn a_clock_never_shows_an_instant_that_cannot_be_written() {
        let clock = System::start(Timestamp::MAX);
        let _ = clock.follow(Timestamp::from_millis(i64::MAX));
        assert_eq!(clock.now(), Timestamp::MAX);
        assert_eq!(clock.now().to_string().parse(), Ok(Timestamp::MAX));
    }

    #[test]
    fn a_store_never_sets_a_clock_before_what_is_stored() {
        let floor = Timestamp::from_millis(i64::from(u32::MAX));
        let clock = System::start(floor);
        let _ = clock.follow(Timestamp::from_millis(5));
        assert!(clock.now() >= floor);
    }
}
