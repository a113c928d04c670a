//! What a policy asks for after a failed attempt, worked out again from the design.

use sprag_core::action::retry::{Backoff, Policy};
use sprag_core::action::{Failure, OnUnknown, Status, Verdict};
use sprag_core::time::Timestamp;

/// `Retry-After` counts up to this many times the longest delay.
const RETRY_AFTER_FACTOR: u64 = 10;

/// A failed attempt.
pub(super) struct Failed<'a> {
    pub(super) policy: &'a Policy,
    pub(super) on_unknown: OnUnknown,
    pub(super) verdict: Verdict,
    pub(super) failure: &'a Failure,
    /// From 1, since a person last gave a fresh budget.
    pub(super) attempt: u32,
    pub(super) now: Timestamp,
    pub(super) deadline: Option<Timestamp>,
}

/// What must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Another attempt, not before the first instant nor due after the second.
    Again(Timestamp, Timestamp),
    /// None.
    Dead,
    /// Either: the deadline lies where only the jitter decides.
    Either(Timestamp, Timestamp),
}

impl Expected {
    /// Whether an action in this status, due then, is what must be.
    pub(super) fn allows(self, status: Status, run_at: Timestamp) -> bool {
        match (self, status) {
            (Self::Again(first, last) | Self::Either(first, last), Status::Retrying) => {
                first <= run_at && run_at <= last
            }
            (Self::Dead | Self::Either(..), Status::Dead) => true,
            _ => false,
        }
    }
}

/// What must follow a failed attempt that was not cancelled.
pub(super) fn expected(failed: &Failed<'_>) -> Expected {
    let Failed { policy, failure, .. } = failed;
    let asks_person = failed.verdict == Verdict::Unknown && failed.on_unknown == OnUnknown::Review;
    let is_over = failed.attempt >= policy.max_attempts || failure.hopeless || !policy.retries(&failure.error.kind);
    if asks_person || is_over {
        return Expected::Dead;
    }
    let (least, most) = delay(policy, failed.attempt);
    let asked = failure
        .retry_after
        .unwrap_or(0)
        .min(policy.max_delay.saturating_mul(RETRY_AFTER_FACTOR));
    let (first, latest) = (failed.now.plus(least.max(asked)), failed.now.plus(most.max(asked)));
    match failed.deadline {
        Some(deadline) if first >= deadline => Expected::Dead,
        Some(deadline) if latest >= deadline => Expected::Either(first, latest),
        _ => Expected::Again(first, latest),
    }
}

/// The shortest and the longest delay after an attempt: jitter takes up to half of it away.
fn delay(policy: &Policy, attempt: u32) -> (u64, u64) {
    let base = policy.base_delay;
    let grown = match policy.backoff_strategy {
        Backoff::Fixed => base,
        Backoff::Linear => base.saturating_mul(u64::from(attempt)),
        Backoff::Exponential => (1..attempt).fold(base, |delay, _| times(delay, policy.multiplier)),
        Backoff::Custom => {
            let nth = policy.delays.get(usize::try_from(attempt - 1).unwrap_or(usize::MAX));
            nth.or(policy.delays.last()).copied().unwrap_or(base)
        }
    };
    let capped = grown.min(policy.max_delay);
    if policy.jitter {
        (capped / 2, capped)
    } else {
        (capped, capped)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "delays of the simulator's machines are small"
)]
fn times(delay: u64, factor: f64) -> u64 {
    (delay as f64 * factor) as u64
}

#[cfg(test)]
mod tests {
    use sprag_core::action::ActionError;

    use super::*;

    fn after(policy: &Policy, attempt: u32, deadline: Option<i64>) -> Expected {
        let failure = Failure::new(ActionError::new("temporary_failure", "no"));
        let deadline = deadline.map(Timestamp::from_millis);
        let (verdict, now) = (Verdict::NotDone, Timestamp::from_millis(0));
        expected(&Failed {
            policy,
            on_unknown: OnUnknown::Retry,
            verdict,
            failure: &failure,
            attempt,
            now,
            deadline,
        })
    }

    #[test]
    fn delays_grow_as_the_design_says() {
        let policy = Policy {
            jitter: false,
            base_delay: 100,
            max_delay: 350,
            max_attempts: 5,
            ..Policy::default()
        };
        let at = |millis| Expected::Again(Timestamp::from_millis(millis), Timestamp::from_millis(millis));
        assert_eq!(after(&policy, 1, None), at(100));
        assert_eq!(after(&policy, 2, None), at(200));
        assert_eq!(after(&policy, 3, None), at(350));
        assert_eq!(after(&policy, 5, None), Expected::Dead);
        assert_eq!(after(&policy, 2, Some(200)), Expected::Dead);
        assert_eq!(after(&policy, 2, Some(201)), at(200));
    }
}
