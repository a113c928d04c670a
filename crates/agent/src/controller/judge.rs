//! Thresholds against merged data.

use sprag_wire::ThresholdResult;

use super::result::millis;
use crate::plan::{Measure, Plan, Threshold};
use crate::stats::{Counts, Tally};

/// Each threshold with its figure.
pub(super) fn thresholds(plan: &Plan, total: &Counts) -> Vec<ThresholdResult> {
    let figures = total.headline();
    let judge = |threshold: &Threshold| {
        let value = figure(threshold.measure, figures);
        ThresholdResult {
            name: threshold.to_string(),
            value,
            // A run without operations shows nothing, so it satisfies nothing.
            ok: figures.ops > 0 && threshold.limit.holds(value),
        }
    };
    plan.thresholds.iter().map(judge).collect()
}

/// The first threshold that does not hold, if the plan wants to abort for it. Before any operation there is nothing to judge.
pub(super) fn broken(plan: &Plan, total: &Counts) -> Option<String> {
    if !plan.abort_on_threshold || total.steady.ops == 0 {
        return None;
    }
    let first = thresholds(plan, total).into_iter().find(|threshold| !threshold.ok)?;
    Some(format!("threshold `{}` does not hold: {:.3}", first.name, first.value))
}

fn figure(measure: Measure, tally: &Tally) -> f64 {
    let quantile = |share| millis(tally.latency.quantile(share));
    match measure {
        Measure::P50 => quantile(0.5),
        Measure::P90 => quantile(0.9),
        Measure::P95 => quantile(0.95),
        Measure::P99 => quantile(0.99),
        Measure::P999 => quantile(0.999),
        Measure::Max => millis(tally.latency.max()),
        Measure::ErrorRate => error_rate(tally),
        Measure::Throughput => tally.throughput(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people, of counts far below 2^53")]
fn error_rate(tally: &Tally) -> f64 {
    if tally.ops == 0 {
        0.0
    } else {
        tally.errors as f64 / tally.ops as f64
    }
}
