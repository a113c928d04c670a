//! The result of a run, as `result.json` has it. Times are milliseconds.

use sprag_wire::{
    AgentResult, CurvePoint, FailureResult, LoadFigures, Percentiles, RunResult, RunStatus, ThresholdResult,
};

use super::collect::{AgentState, AgentView};
use crate::stats::{Counts, Latency, Tally};

impl From<&Latency> for Percentiles {
    fn from(latency: &Latency) -> Self {
        let at = |share| millis(latency.quantile(share));
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: millis(latency.max()),
        }
    }
}

impl From<&Tally> for LoadFigures {
    fn from(tally: &Tally) -> Self {
        Self {
            ops: tally.ops,
            errors: tally.errors,
            cut: tally.cut,
            throughput: tally.throughput(),
            latency: (&tally.latency).into(),
            service_time: (&tally.service).into(),
            curve: curve(&tally.latency),
        }
    }
}

/// Shares that halve what is left, so that the rare latencies have as much room as the frequent ones; at the end, all operations.
fn curve(latency: &Latency) -> Vec<CurvePoint> {
    let count = latency.count();
    let point = |share| CurvePoint {
        share,
        ms: millis(latency.quantile(share)),
    };
    let steps = (0..CURVE_STEPS_MAX).take_while(|step| count >> (step / CURVE_STEPS) > 0);
    let points = steps.map(|step| point(1.0 - 0.5_f64.powf(f64::from(step) / f64::from(CURVE_STEPS))));
    points.chain((count > 0).then(|| point(1.0))).collect()
}

/// Points of the curve between a share and the one with half of the rest.
const CURVE_STEPS: u32 = 4;
const CURVE_STEPS_MAX: u32 = 100;

impl From<&AgentView> for AgentResult {
    fn from(agent: &AgentView) -> Self {
        Self {
            name: agent.name.clone(),
            address: agent.address.clone(),
            state: agent.state.name().to_owned(),
            message: Some(agent.message.clone()).filter(|message| !message.is_empty()),
            offset_ms: signed_millis(agent.offset.micros),
            ops: agent.ops,
            errors: agent.errors,
            partial: agent.state != AgentState::Completed,
        }
    }
}

/// What all agents say together.
pub(super) struct Whole<'a> {
    pub(super) name: &'a str,
    pub(super) started_at: String,
    pub(super) digest: &'a str,
    pub(super) agents: &'a [AgentView],
    pub(super) total: &'a Counts,
    pub(super) thresholds: Vec<ThresholdResult>,
}

impl Whole<'_> {
    /// As a result with this status.
    pub(super) fn result(self, status: RunStatus, reason: Option<String>) -> RunResult {
        let starts = self.agents.iter().filter_map(|agent| agent.first_start);
        let (first, last) = (starts.clone().min(), starts.max());
        let spread = first.zip(last).map_or(0, |(first, last)| last - first);
        let uncertainty = self.agents.iter().map(|agent| agent.offset.uncertainty).max();
        RunResult {
            status,
            reason,
            name: self.name.to_owned(),
            started_at: self.started_at,
            start_spread_ms: millis(spread),
            clock_uncertainty_ms: millis(uncertainty.unwrap_or_default()),
            agents: self.agents.iter().map(Into::into).collect(),
            total: self.total.headline().into(),
            ramp: (&self.total.ramp).into(),
            prepare_ops: self.total.prepare_ops,
            missed: self.total.missed,
            failures: failures(self.total),
            thresholds: self.thresholds,
            plan_digest: self.digest.to_owned(),
        }
    }
}

fn failures(total: &Counts) -> Vec<FailureResult> {
    let failure = |(reason, times): (&str, u64)| FailureResult {
        reason: reason.to_owned(),
        times,
    };
    total.failures.most_frequent().into_iter().map(failure).collect()
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a time for people, far below 2^53 µs")]
pub(super) fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "a time for people, far below 2^53 µs")]
fn signed_millis(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}
