//! What the counts come to. Where there is nothing to divide by there is no figure.

use std::cmp::Reverse;

use sprag_wire::{FailureReason, Figures, Latency};

use super::tally::{Failed, Tally};

/// Failure reasons that are told.
const REASONS_MAX: usize = 20;

impl Tally {
    /// What the counts come to.
    pub(super) fn figures(&mut self) -> Figures {
        Figures {
            total_executions: self.triggered,
            succeeded: self.succeeded,
            dead: self.dead,
            cancelled: self.cancelled,
            skipped: self.skipped,
            open: self.open,
            attempts: self.attempts,
            success_rate: share(self.succeeded, self.succeeded + self.dead),
            latency: spread(&mut self.took),
            queue_delay: spread(&mut self.waited),
            retry_rate: share(self.tried_again, self.tried),
            average_retries: share(self.attempts.saturating_sub(self.tried), self.tried),
            total_cost: self.cost,
            cost_per_execution: (self.tried > 0).then(|| self.cost / float(self.tried)),
            error_types: self
                .errors
                .iter()
                .map(|(kind, failed)| (kind.clone(), failed.attempts))
                .collect(),
        }
    }

    /// What failed, what most died of first.
    pub(super) fn failure_reasons(&self) -> Vec<FailureReason> {
        let mut reasons: Vec<(&String, &Failed)> = self.errors.iter().collect();
        reasons.sort_by_key(|(kind, failed)| (Reverse((failed.dead, failed.attempts)), *kind));
        let told = reasons
            .into_iter()
            .take(REASONS_MAX)
            .map(|(kind, failed)| FailureReason {
                error_type: kind.clone(),
                attempts: failed.attempts,
                dead_letters: failed.dead,
                share: share(failed.dead, self.dead),
                example: failed.example.clone(),
                dead_letter: failed.action,
            });
        told.collect()
    }
}

/// How values are spread; none of no values.
pub(super) fn spread(values: &mut [u64]) -> Option<Latency> {
    values.sort_unstable();
    let max = *values.last()?;
    let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
    Some(Latency {
        mean: float(values.iter().sum()) / float(count),
        p50: at(values, 50),
        p95: at(values, 95),
        p99: at(values, 99),
        max,
    })
}

/// The least value that so many of 100 do not exceed.
fn at(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// A part of a whole; none of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}
