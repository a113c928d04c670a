//! The retry engine: whether another attempt follows, and when.
//!
//! Pure arithmetic. Jitter is a hash of (action id, attempt), so the same action computes the same delay on replay,
//! after a crash and on another node. No task sleeps through a backoff: the answer is a due time for the store.

use serde::{Deserialize, Serialize};

use super::error::kind;
use super::outcome::Failure;
use crate::ids::{ActionId, scatter};
use crate::time::Timestamp;

/// Attempts in all, unless the policy says otherwise: the first and three retries.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 4;
/// The first delay, in milliseconds.
pub const BASE_DELAY_DEFAULT: u64 = 1_000;
/// No computed delay is longer, in milliseconds.
pub const MAX_DELAY_DEFAULT: u64 = 60_000;
/// `Retry-After` is honoured up to this many times `maxDelay`.
pub const RETRY_AFTER_FACTOR: u64 = 10;

/// How delays grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// Always the base.
    Fixed,
    /// Base times the number of the attempt.
    Linear,
    /// Base times a power of the multiplier.
    #[default]
    Exponential,
    /// A list of delays; the last one repeats.
    Custom,
}

/// When and how often to try again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Attempts in all; 1 means none after the first.
    pub max_attempts: u32,
    /// How delays grow.
    pub backoff_strategy: Backoff,
    /// The base, in milliseconds.
    pub base_delay: u64,
    /// For exponential growth.
    pub multiplier: f64,
    /// The cap, in milliseconds.
    pub max_delay: u64,
    /// For [`Backoff::Custom`], in milliseconds.
    pub delays: Vec<u64>,
    /// Spread each delay over the upper half of its length.
    pub jitter: bool,
    /// If set, Sprag retries only these types.
    pub retryable_errors: Option<Vec<String>>,
    /// Sprag never retries these types.
    pub non_retryable_errors: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: MAX_ATTEMPTS_DEFAULT,
            backoff_strategy: Backoff::default(),
            base_delay: BASE_DELAY_DEFAULT,
            multiplier: 2.0,
            max_delay: MAX_DELAY_DEFAULT,
            delays: Vec::new(),
            jitter: true,
            retryable_errors: None,
            non_retryable_errors: Vec::new(),
        }
    }
}

/// The facts a judgement rests on.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Whose jitter.
    pub action: ActionId,
    /// Attempts of this budget that have ended, this one included; from 1.
    pub attempt: u32,
    /// How it failed.
    pub failure: &'a Failure,
    /// When it ended.
    pub now: Timestamp,
    /// When the action's total time runs out.
    pub deadline: Option<Timestamp>,
}

/// Whether another attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Yes, at that time.
    Again(Timestamp),
    /// No, and why.
    Stop(Reason),
}

/// Why no further attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All attempts were used.
    AttemptsUsed,
    /// The action's total time would be over before the next one.
    DeadlinePassed,
    /// The runner says no retry can ever help.
    Hopeless,
    /// The policy, or the default, does not retry this error type.
    NotRetryable,
}

impl Policy {
    /// Judges in the design's order: attempts and deadline, the runner's veto, the lists, the default.
    pub fn judge(&self, trial: Trial<'_>) -> Judgement {
        if trial.attempt >= self.max_attempts {
            return Judgement::Stop(Reason::AttemptsUsed);
        }
        let due = trial.now.plus(self.wait(trial));
        if trial.deadline.is_some_and(|deadline| due >= deadline) {
            return Judgement::Stop(Reason::DeadlinePassed);
        }
        if trial.failure.hopeless {
            return Judgement::Stop(Reason::Hopeless);
        }
        if !self.retries(&trial.failure.error.kind) {
            return Judgement::Stop(Reason::NotRetryable);
        }
        Judgement::Again(due)
    }

    /// Whether errors of this type are retried. A list of retryable errors speaks of what the other side may say; that
    /// our own process died is none of its words, so a crash is retried unless it is ruled out by name.
    pub fn retries(&self, error: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == error);
        if names(&self.non_retryable_errors) {
            return false;
        }
        if error == kind::CRASHED {
            return true;
        }
        match &self.retryable_errors {
            Some(list) if !list.is_empty() => names(list),
            _ => !kind::NOT_RETRIED_BY_DEFAULT.contains(&error),
        }
    }

    /// The delay after attempt `attempt` (from 1), before `Retry-After` has its say.
    pub fn delay(&self, action: ActionId, attempt: u32) -> u64 {
        let capped = self.grown(attempt).min(self.max_delay);
        if self.jitter {
            spread(capped, action, attempt)
        } else {
            capped
        }
    }

    fn grown(&self, attempt: u32) -> u64 {
        match self.backoff_strategy {
            Backoff::Fixed => self.base_delay,
            Backoff::Linear => self.base_delay.saturating_mul(u64::from(attempt)),
            Backoff::Exponential => self.exponential(attempt),
            Backoff::Custom => {
                let last = self.delays.len().saturating_sub(1);
                let position = usize::try_from(attempt.saturating_sub(1))
                    .unwrap_or(usize::MAX)
                    .min(last);
                self.delays.get(position).copied().unwrap_or(self.base_delay)
            }
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is too large for u64 saturates, which is what a cap is for"
    )]
    fn exponential(&self, attempt: u32) -> u64 {
        let power = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        (self.base_delay as f64 * self.multiplier.powi(power)) as u64
    }

    fn wait(&self, trial: Trial<'_>) -> u64 {
        let asked = trial
            .failure
            .retry_after
            .unwrap_or(0)
            .min(self.max_delay.saturating_mul(RETRY_AFTER_FACTOR));
        self.delay(trial.action, trial.attempt).max(asked)
    }
}

/// Takes `delay` × (0.5 … 1.0), by a hash of the action and the attempt.
fn spread(delay: u64, action: ActionId, attempt: u32) -> u64 {
    let bytes = action.to_bytes();
    let (high, low) = bytes.split_at(8);
    let word = |part: &[u8]| part.iter().fold(0_u64, |bits, &byte| (bits << 8) | u64::from(byte));
    let hash = scatter(word(high) ^ scatter(word(low) ^ u64::from(attempt)));
    let half = (u128::from(delay) * u128::from(hash)) >> 65;
    delay / 2 + u64::try_from(half).unwrap_or(0)
}

#[cfg(test)]
mod tests;
