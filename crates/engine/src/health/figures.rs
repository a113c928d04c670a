//! What the counts come to. Where there is nothing to divide by there is no figure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use sprag_core::ids::ActionId;

use super::tally::{Failed, Tally};

/// Failure reasons that are told.
const REASONS_MAX: usize = 20;

/// The figures of some actions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Actions that were triggered.
    pub total_executions: u64,
    /// Of them: succeeded.
    pub succeeded: u64,
    /// Dead letters, archived ones included.
    pub dead: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Skipped.
    pub skipped: u64,
    /// Not over yet.
    pub open: u64,
    /// Attempts in all.
    pub attempts: u64,
    /// Succeeded, of those that succeeded or died.
    pub success_rate: Option<f64>,
    /// How long attempts took.
    pub latency: Option<Latency>,
    /// How long actions were ready before their attempt began.
    pub queue_delay: Option<Latency>,
    /// Actions that needed more than one attempt, of those that had one.
    pub retry_rate: Option<f64>,
    /// Attempts after the first, by action that had one.
    pub average_retries: Option<f64>,
    /// What all attempts cost.
    pub total_cost: f64,
    /// The same by action that had an attempt.
    pub cost_per_execution: Option<f64>,
    /// Attempts that failed, by the type of their error.
    pub error_types: BTreeMap<String, u64>,
}

/// How durations are spread, in milliseconds, each a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// All together, divided by their number.
    pub mean: f64,
    /// Half are not longer.
    pub p50: u64,
    /// 95 of 100 are not longer.
    pub p95: u64,
    /// 99 of 100 are not longer.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// The figures of a type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfType {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of an action of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfAction {
    /// The machine's name.
    pub machine: String,
    /// What it calls the action.
    pub action_id: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What failed for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureReason {
    /// The type of the error.
    pub error_type: String,
    /// Attempts that ended so.
    pub attempts: u64,
    /// Actions that died of it.
    pub dead_letters: u64,
    /// Of all that died.
    pub share: Option<f64>,
    /// What one of them said.
    pub example: String,
    /// A dead letter to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<ActionId>,
}

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
