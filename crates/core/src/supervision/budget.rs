//! A restart budget: how many failures within which window end the restarts, and how long the pauses between them are.

use serde::{Deserialize, Serialize};

use super::rest::{REST_BASE_MILLIS, REST_MAX_MILLIS, RestSchedule};
use super::restart::{DETECTION_WINDOW_MILLIS, DETECTIONS_MAX, GRACE_MILLIS, RestartLimits};

/// How often something is restarted before the supervisor gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartBudget {
    /// This failure within the window is the last: no restart follows it.
    pub failures: usize,
    /// The sliding window, in milliseconds.
    pub window_millis: u64,
    /// The pause after the first restart, in milliseconds; it doubles with each further one.
    pub base_millis: u64,
    /// No pause is longer, in milliseconds.
    pub cap_millis: u64,
}

impl Default for RestartBudget {
    fn default() -> Self {
        Self {
            failures: DETECTIONS_MAX,
            window_millis: DETECTION_WINDOW_MILLIS,
            base_millis: REST_BASE_MILLIS,
            cap_millis: REST_MAX_MILLIS,
        }
    }
}

impl RestartBudget {
    /// How the pauses grow, without jitter.
    pub fn schedule(&self) -> RestSchedule {
        RestSchedule {
            base_millis: self.base_millis,
            max_millis: self.cap_millis,
            ..RestSchedule::default()
        }
    }

    /// The bounds of a restart machine with this budget.
    pub fn limits(&self) -> RestartLimits {
        RestartLimits {
            grace_millis: GRACE_MILLIS,
            detections_max: self.failures,
            window_millis: self.window_millis,
            schedule: self.schedule(),
        }
    }

    /// Restarts before it is given up.
    pub fn restarts(&self) -> u32 {
        u32::try_from(self.failures.saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Whether the last failure can fall into the same window as the first when each restart fails at once. If not,
    /// the restarts never end.
    pub fn ends(&self) -> bool {
        let schedule = self.schedule();
        let span = (1..=self.restarts()).try_fold(0_u64, |span, number| {
            let span = span.saturating_add(schedule.rest(number));
            (span < self.window_millis).then_some(span)
        });
        span.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_without_words_is_that_of_a_restart_machine() {
        assert_eq!(RestartBudget::default().limits(), RestartLimits::default());
        assert_eq!(RestartBudget::default().restarts(), 4);
        assert!(RestartBudget::default().ends());
    }

    #[test]
    fn pauses_that_outgrow_the_window_never_end() {
        let slow = RestartBudget {
            base_millis: 60_000,
            cap_millis: 600_000,
            ..RestartBudget::default()
        };
        assert!(!slow.ends());
        let once = RestartBudget { failures: 1, ..slow };
        assert!(once.ends(), "no restart, no pause");
    }
}
