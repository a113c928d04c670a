//! How long something took, from the workspace's one place that reads the clock.

use std::time::Duration;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;

/// Runs from the moment it is made.
pub(crate) struct Stopwatch(System);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(System::start(Timestamp::from_millis(0)))
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// So many in the time since the start.
    pub(crate) fn rate(&self, count: u64) -> f64 {
        per_second(count, self.elapsed())
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
