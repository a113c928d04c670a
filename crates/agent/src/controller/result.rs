//! The result of a run, as `result.json` has it. Times are milliseconds.

use serde::{Deserialize, Serialize};

use super::collect::{AgentState, AgentView};
use crate::stats::{Counts, Latency, Tally};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RunStatus {
    /// Every agent did its part, and the thresholds hold.
    Completed,
    /// An agent failed or is lost, or a threshold does not hold.
    Failed,
    /// A person or a program aborted it.
    Aborted,
    /// Some agents are lost, and the plan accepts that.
    Partial,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// How it ended.
    pub status: RunStatus,
    /// Why, unless it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the plan.
    pub name: String,
    /// When the workload started, RFC 3339.
    pub started_at: String,
    /// From the first operation of the first agent to that of the last one.
    pub start_spread_ms: f64,
    /// The largest uncertainty of an agent's clock.
    pub clock_uncertainty_ms: f64,
    /// Each agent.
    pub agents: Vec<AgentResult>,
    /// The load at its full height.
    pub total: Figures,
    /// The operations while the load rose.
    pub ramp: Figures,
    /// Operations of the prepare phase.
    pub prepare_ops: u64,
    /// Arrivals that never started.
    pub missed: u64,
    /// Why operations failed, the most frequent reason first.
    pub failures: Vec<FailureResult>,
    /// Each threshold.
    pub thresholds: Vec<ThresholdResult>,
    /// SHA-256 of the plan as agents got it.
    pub plan_digest: String,
}

/// One agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// How it stood at the end.
    pub state: String,
    /// Why, if it failed or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its clock minus the controller's.
    pub offset_ms: f64,
    /// Its operations.
    pub ops: u64,
    /// Its failed operations.
    pub errors: u64,
    /// Whether its numbers end before the run does.
    pub partial: bool,
}

/// Figures of operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Operations.
    pub ops: u64,
    /// Failed operations.
    pub errors: u64,
    /// Failed operations that were cut.
    pub cut: u64,
    /// Operations a second.
    pub throughput: f64,
    /// From the intended start to the end.
    pub latency: Percentiles,
    /// From the actual start to the end.
    pub service_time: Percentiles,
    /// The latency at every share of the operations.
    pub curve: Vec<CurvePoint>,
}

/// A point of the percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The share of operations, from 0 to 1.
    pub share: f64,
    /// They took at most so many milliseconds.
    pub ms: f64,
}

/// Latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// Nine in ten are below.
    pub p90: f64,
    /// 95 in 100.
    pub p95: f64,
    /// 99 in 100.
    pub p99: f64,
    /// 999 in 1,000.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Why operations failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureResult {
    /// The reason.
    pub reason: String,
    /// How often.
    pub times: u64,
}

/// A threshold and its figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// As the plan has it.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Whether it holds.
    pub ok: bool,
}

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

impl From<&Tally> for Figures {
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

impl AgentResult {
    pub(super) fn of(agent: &AgentView) -> Self {
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
            agents: self.agents.iter().map(AgentResult::of).collect(),
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
