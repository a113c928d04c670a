//! What the engine counts, for whoever watches over it.
//!
//! Counters are plain atomics that the lane alone writes and anybody reads: counting takes no lock and allocates
//! nothing. Only what is durable counts, so a batch that failed and is decided again counts once. Labels are bounded:
//! action types are those with a runner, everything else is `other`.

mod errors;
mod histogram;
mod kinds;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sprag_core::action::Verdict;
use sprag_store::records::ExecutionStatus;

pub(crate) use self::errors::ErrorIndex;
pub use self::errors::Errors;
pub use self::histogram::{Distribution, Histogram};
pub(crate) use self::kinds::KindIndex;
pub use self::kinds::{KindMetrics, Kinds, OTHER};
use crate::lane::Batch;
use crate::traces::{Counts, Traces};

/// Bounds of durations in microseconds: from a tenth of a millisecond to ten seconds.
const QUICK_MICROS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000,
];
/// Bounds of batches: up to the largest there is.
const BATCHES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048];
/// Bounds of how late timers fire, in microseconds: they are due to the millisecond.
const LATE_MICROS: &[u64] = &[
    1_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    1_000_000,
    5_000_000,
    60_000_000,
    3_600_000_000,
];

/// A number that only grows, or one that is set.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Sets it.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// What it stands at.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Something that happened in a batch, to be counted once it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// An execution was closed.
    Closed(ExecutionStatus),
    /// An attempt began so long after its action was ready.
    Begun { kind: KindIndex, waited_millis: u64 },
    /// An attempt ended.
    Settled {
        kind: KindIndex,
        outcome: Verdict,
        took_millis: u64,
        again: bool,
        error: Option<ErrorIndex>,
        cost_micros: u64,
    },
    /// A timer fired so long after it was due.
    Fired { late_millis: u64 },
}

/// Everything the engine counts.
#[derive(Debug)]
pub struct Metrics {
    /// Executions that started.
    pub started: Counter,
    /// Executions that completed.
    pub completed: Counter,
    /// Executions that were cancelled.
    pub cancelled: Counter,
    /// Actions, by type.
    pub kinds: Kinds,
    /// Attempts under way.
    pub running: Counter,
    /// Attempts under way that programs outside this process perform.
    pub leased: Counter,
    /// Outcomes of attempts that were no longer current: dropped.
    pub superseded: Counter,
    /// Commits that the store refused or failed.
    pub commits_failed: Counter,
    /// Of these, the ones that another owner of a shard kept from being written.
    pub fenced: Counter,
    /// How long commits took, in microseconds.
    pub commit_micros: Histogram,
    /// How many commands a commit held.
    pub batch_size: Histogram,
    /// How long the oldest command of a batch waited, in microseconds.
    pub lag_micros: Histogram,
    /// How late timers and schedules fired, in microseconds.
    pub timer_late_micros: Histogram,
    /// What became of spans; none when nobody draws traces.
    pub traces: Option<Arc<Counts>>,
    /// When the batch under way began, in microseconds; none while the lane rests.
    busy_since: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(std::iter::empty())
    }
}

impl Metrics {
    /// Nothing counted yet, for actions of these types.
    pub fn new<'a>(kinds: impl Iterator<Item = &'a str>) -> Self {
        Self {
            started: Counter::default(),
            completed: Counter::default(),
            cancelled: Counter::default(),
            kinds: Kinds::new(kinds),
            running: Counter::default(),
            leased: Counter::default(),
            superseded: Counter::default(),
            commits_failed: Counter::default(),
            fenced: Counter::default(),
            commit_micros: Histogram::new(QUICK_MICROS),
            batch_size: Histogram::new(BATCHES),
            lag_micros: Histogram::new(QUICK_MICROS),
            timer_late_micros: Histogram::new(LATE_MICROS),
            traces: None,
            busy_since: Counter::default(),
        }
    }

    /// The same, with what becomes of these traces.
    pub(crate) fn of_traces(self, traces: &Traces) -> Self {
        Self {
            traces: traces.is_on().then(|| Arc::clone(traces.counts())),
            ..self
        }
    }

    /// How long the batch under way has taken so far, in microseconds: none while the lane rests.
    pub fn busy_micros(&self, now: u64) -> u64 {
        match self.busy_since.get() {
            0 => 0,
            since => now.saturating_sub(since),
        }
    }

    /// A batch begins; its oldest command came at `oldest`.
    pub(crate) fn begin(&self, now: u64, oldest: Option<u64>) {
        // None means rest, so the first microsecond counts as the second.
        self.busy_since.set(now.max(1));
        if let Some(oldest) = oldest {
            self.lag_micros.record(now.saturating_sub(oldest));
        }
    }

    /// The lane rests.
    pub(crate) fn rest(&self, running: usize, leased: usize) {
        self.busy_since.set(0);
        self.running.set(u64::try_from(running).unwrap_or(u64::MAX));
        self.leased.set(u64::try_from(leased).unwrap_or(u64::MAX));
    }

    /// A commit of so many commands is durable.
    pub(crate) fn committed(&self, commands: usize, micros: u64) {
        self.commit_micros.record(micros);
        self.batch_size.record(u64::try_from(commands).unwrap_or(u64::MAX));
    }

    /// Counts what happened in a batch that is durable.
    pub(crate) fn count(&self, batch: &Batch) {
        self.started.add(batch.started());
        for (kind, status) in batch.ended() {
            self.kinds.of(self.kinds.index(kind)).end(status);
        }
        for note in &batch.notes {
            self.count_note(*note);
        }
    }

    fn count_note(&self, note: Note) {
        match note {
            Note::Closed(ExecutionStatus::Cancelled) => self.cancelled.add(1),
            Note::Closed(_) => self.completed.add(1),
            Note::Begun { kind, waited_millis } => self.kinds.of(kind).begin(micros(waited_millis)),
            Note::Settled {
                kind,
                outcome,
                took_millis,
                again,
                error,
                cost_micros,
            } => {
                let kind = self.kinds.of(kind);
                kind.settle(outcome, micros(took_millis));
                kind.retried.add(u64::from(again));
                kind.cost_micros.add(cost_micros);
                if let Some(error) = error {
                    kind.errors.add(error);
                }
            }
            Note::Fired { late_millis } => self.timer_late_micros.record(micros(late_millis)),
        }
    }
}

fn micros(millis: u64) -> u64 {
    millis.saturating_mul(1_000)
}
