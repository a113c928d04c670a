//! The clock of an agent or a controller: the wall clock sampled once, and monotonic time since. So a step of the wall clock moves
//! no deadline.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::Clock;

/// Microseconds that never run backwards.
#[derive(Clone)]
pub struct Micros {
    base: u64,
    started: u64,
    clock: Arc<dyn Clock>,
}

impl Micros {
    /// Samples the wall clock.
    pub fn start(clock: Arc<dyn Clock>) -> Self {
        let wall = u64::try_from(clock.wall().as_millis()).unwrap_or_default();
        Self {
            base: wall.saturating_mul(1_000),
            started: clock.micros(),
            clock,
        }
    }

    /// Time since the sample.
    pub fn elapsed(&self) -> Duration {
        Duration::from_micros(self.clock.micros().saturating_sub(self.started))
    }

    /// Microseconds since 1970.
    pub fn unix(&self) -> u64 {
        self.unix_at(self.elapsed())
    }

    /// Microseconds since 1970, at this time since the sample.
    pub fn unix_at(&self, elapsed: Duration) -> u64 {
        self.base.saturating_add(whole_micros(elapsed))
    }
}

/// A duration in whole microseconds.
pub(crate) fn whole_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
