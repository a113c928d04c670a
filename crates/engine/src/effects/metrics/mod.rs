//! What the engine counts.
//!
//! Counters are atomics that the lane writes after each commit and a scrape reads: counting allocates nothing. The engine
//! counts only what is durable, so a batch that failed and is decided again counts once. Labels are bounded: action types
//! are those with a runner, everything else is `other`. [`Metrics::register`] adds every family to a registry.

mod kinds;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sprag_store::records::ExecutionStatus;

pub use self::kinds::{KindMetrics, Kinds, OTHER};
use crate::decide::{Batch, Note};
use crate::effects::traces::{Counts, Traces};

/// Names and values of labels.
pub type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
/// A counter of fractions.
type MoneyCounter = Counter<f64, AtomicU64>;

/// Bounds of durations in seconds: from a tenth of a millisecond to ten seconds.
const QUICK_SECONDS: [f64; 13] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 10.0,
];
/// Bounds of batches: up to the largest there is.
const BATCHES: [f64; 12] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 2_048.0,
];
/// Bounds of how late timers fire, in seconds: they are due to the millisecond.
const LATE_SECONDS: [f64; 11] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 60.0, 3_600.0];

/// Everything the engine counts.
#[derive(Debug)]
pub struct Metrics {
    started: Counter,
    closed: Family<Labels<1>, Counter>,
    completed: Counter,
    cancelled: Counter,
    /// Actions, by type.
    pub kinds: Kinds,
    running: Gauge,
    leased: Gauge,
    /// Outcomes of attempts that were no longer current: the engine drops them.
    pub superseded: Counter,
    /// Commits that the store refused or failed.
    pub commits_failed: Counter,
    /// Of these, the commits refused because another node owned a shard.
    pub fenced: Counter,
    commit_duration: Histogram,
    batch_size: Histogram,
    lane_lag: Histogram,
    timer_lateness: Histogram,
    /// Spans by result; none when no collector is configured.
    traces: Option<Arc<Counts>>,
    /// When the batch under way began, in microseconds; 0 while the lane is idle.
    busy_since: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(std::iter::empty())
    }
}

impl Metrics {
    /// Nothing counted yet, for actions of these types.
    pub fn new<'a>(kinds: impl Iterator<Item = &'a str>) -> Self {
        let closed = Family::<Labels<1>, Counter>::default();
        let with = |status: ExecutionStatus| closed.get_or_create_owned(&[("status", Cow::Borrowed(status.word()))]);
        Self {
            started: Counter::default(),
            completed: with(ExecutionStatus::Completed),
            cancelled: with(ExecutionStatus::Cancelled),
            closed,
            kinds: Kinds::new(kinds),
            running: Gauge::default(),
            leased: Gauge::default(),
            superseded: Counter::default(),
            commits_failed: Counter::default(),
            fenced: Counter::default(),
            commit_duration: Histogram::new(QUICK_SECONDS),
            batch_size: Histogram::new(BATCHES),
            lane_lag: Histogram::new(QUICK_SECONDS),
            timer_lateness: Histogram::new(LATE_SECONDS),
            traces: None,
            busy_since: AtomicU64::new(0),
        }
    }

    /// The same, with the results of these traces.
    pub(crate) fn of_traces(self, traces: &Traces) -> Self {
        Self {
            traces: traces.is_on().then(|| Arc::clone(traces.counts())),
            ..self
        }
    }

    /// Adds every family of the engine to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Executions that started since the server started";
        registry.register("executions_started", help, self.started.clone());
        let help = "Executions that closed since the server started, by status";
        registry.register("executions_closed", help, self.closed.clone());
        self.kinds.register(registry);
        let help = "Attempts that run now";
        registry.register("attempts_running", help, self.running.clone());
        let help = "Attempts that run now in external runners";
        registry.register("attempts_leased", help, self.leased.clone());
        let help = "Outcomes that came too late: their attempts were no longer current";
        registry.register("attempts_superseded", help, self.superseded.clone());
        self.register_lane(registry);
        if let Some(traces) = &self.traces {
            traces.register(registry);
        }
    }

    fn register_lane(&self, registry: &mut Registry) {
        let help = "How long commits took until they were on disk";
        registry.register("commit_duration_seconds", help, self.commit_duration.clone());
        let help = "How many commands one commit held";
        registry.register("commit_batch_size", help, self.batch_size.clone());
        let help = "How long the oldest command of a batch waited for the lane";
        registry.register("lane_lag_seconds", help, self.lane_lag.clone());
        let help = "How long after they were due timers and schedules fired";
        registry.register("timer_lateness_seconds", help, self.timer_lateness.clone());
        let help = "Batches that the store did not write";
        registry.register("commits_failed", help, self.commits_failed.clone());
        let help = "Of these, batches refused because another node owned a shard";
        registry.register("commits_fenced", help, self.fenced.clone());
    }

    /// How long the batch under way has taken so far, in microseconds: none while the lane is idle.
    pub fn busy_micros(&self, now: u64) -> u64 {
        match self.busy_since.load(Ordering::Relaxed) {
            0 => 0,
            since => now.saturating_sub(since),
        }
    }

    /// A batch begins; its oldest command came at `oldest`.
    pub(crate) fn begin(&self, now: u64, oldest: Option<u64>) {
        // 0 means idle, so the first microsecond counts as the second.
        self.busy_since.store(now.max(1), Ordering::Relaxed);
        if let Some(oldest) = oldest {
            let waited = Duration::from_micros(now.saturating_sub(oldest));
            self.lane_lag.observe(waited.as_secs_f64());
        }
    }

    /// The lane becomes idle.
    pub(crate) fn rest(&self, running: usize, leased: usize) {
        self.busy_since.store(0, Ordering::Relaxed);
        self.running.set(i64::try_from(running).unwrap_or(i64::MAX));
        self.leased.set(i64::try_from(leased).unwrap_or(i64::MAX));
    }

    /// A commit of so many commands is durable.
    pub(crate) fn committed(&self, commands: usize, micros: u64) {
        self.commit_duration
            .observe(Duration::from_micros(micros).as_secs_f64());
        self.batch_size
            .observe(f64::from(u32::try_from(commands).unwrap_or(u32::MAX)));
    }

    /// Counts what happened in a batch that is durable.
    pub(crate) fn count(&self, batch: &Batch) {
        self.started.inc_by(batch.started());
        for (kind, status) in batch.ended() {
            self.kinds.of(self.kinds.index(kind)).end(status);
        }
        for note in &batch.notes {
            self.count_note(*note);
        }
    }

    fn count_note(&self, note: Note) {
        match note {
            Note::Closed(ExecutionStatus::Cancelled) => drop(self.cancelled.inc()),
            Note::Closed(_) => drop(self.completed.inc()),
            Note::Begun { kind, waited_millis } => self.kinds.of(kind).begin(waited_millis),
            Note::Settled {
                kind,
                outcome,
                took_millis,
                again,
                error,
                cost_micros,
            } => {
                let kind = self.kinds.of(kind);
                kind.settle(outcome, took_millis);
                kind.spend(cost_micros);
                if again {
                    kind.retry();
                }
                if let Some(error) = error {
                    self.kinds.failed(kind, error);
                }
            }
            Note::Superseded => drop(self.superseded.inc()),
            Note::Fired { late_millis } => self.timer_lateness.observe(seconds(late_millis)),
        }
    }
}

fn seconds(millis: u64) -> f64 {
    Duration::from_millis(millis).as_secs_f64()
}
