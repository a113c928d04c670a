//! The thresholds of collection: when a pass is due, times out, becomes stale, and is given up.

/// After how many milliseconds collection restarts, counted from the restart before; the last one repeats.
pub const RESTART_SPACINGS_MILLIS: [u64; 3] = [0, 4_000, 6_000];

/// The thresholds of a collector, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorOptions {
    /// A pass is due so long after the one before began.
    pub interval_millis: u64,
    /// A pass that takes longer is dropped and counts as failed.
    pub pass_timeout_millis: u64,
    /// An observation of that age is stale: nothing is decided on it.
    pub stale_millis: u64,
    /// When the newest observation is that old, collection restarts.
    pub abandon_millis: u64,
}

impl Default for CollectorOptions {
    fn default() -> Self {
        Self {
            interval_millis: 1_000,
            pass_timeout_millis: 5_000,
            stale_millis: 10_000,
            abandon_millis: 20_000,
        }
    }
}

/// Thresholds that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdsError {
    /// No pause between passes.
    #[error("`interval` is `0` ms; give it at least `1`")]
    ZeroInterval,
    /// Observations would be stale before the next one is due.
    #[error("`interval` is `{interval}` ms, `stale` is `{stale}` ms; make the interval shorter than that")]
    IntervalTooLong {
        /// The interval.
        interval: u64,
        /// When an observation is stale.
        stale: u64,
    },
    /// A pass could bring what is stale already.
    #[error("`passTimeout` is `{pass_timeout}` ms, `stale` is `{stale}` ms; make the timeout shorter, and above `0`")]
    PassTimeoutTooLong {
        /// The timeout of a pass.
        pass_timeout: u64,
        /// When an observation is stale.
        stale: u64,
    },
    /// Collection would restart on what is not even stale.
    #[error("`stale` is `{stale}` ms, `abandon` is `{abandon}` ms; an observation must be stale before it is given up")]
    StaleTooLong {
        /// When an observation is stale.
        stale: u64,
        /// When collection restarts.
        abandon: u64,
    },
}

impl CollectorOptions {
    /// Whether the thresholds make sense together.
    pub fn check(&self) -> Result<(), ThresholdsError> {
        let Self {
            interval_millis: interval,
            pass_timeout_millis: pass_timeout,
            stale_millis: stale,
            abandon_millis: abandon,
        } = *self;
        if interval == 0 {
            return Err(ThresholdsError::ZeroInterval);
        }
        if interval >= stale {
            return Err(ThresholdsError::IntervalTooLong { interval, stale });
        }
        if pass_timeout == 0 || pass_timeout >= stale {
            return Err(ThresholdsError::PassTimeoutTooLong { pass_timeout, stale });
        }
        if stale >= abandon {
            return Err(ThresholdsError::StaleTooLong { stale, abandon });
        }
        Ok(())
    }

    /// How long after the restart before comes restart `number`, from 1.
    pub(super) fn spacing(number: u32) -> u64 {
        let [first, second, rest] = RESTART_SPACINGS_MILLIS;
        match number {
            0 | 1 => first,
            2 => second,
            _ => rest,
        }
    }
}
