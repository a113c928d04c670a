//! Where the operations of a run are counted while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::tally::Counts;

/// What an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The prepare phase.
    Prepare,
    /// The load rises.
    Ramp,
    /// The load is at its full height.
    Steady,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationEnd {
    /// Well.
    Done,
    /// Not well.
    Failed,
    /// It was cut.
    Cut,
}

/// An operation that ended. Instants are microseconds of the agent's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it belongs to.
    pub stage: Stage,
    /// When it was meant to start.
    pub intended: u64,
    /// When it started.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
    /// How it ended.
    pub end: OperationEnd,
}

/// The counts of one run. It belongs to that run alone, so a leaked task never counts for the next one.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Counts>);

impl Recorder {
    /// Counts an operation.
    pub fn record(&self, operation: &Operation) {
        let Operation {
            stage,
            intended,
            started,
            ended,
            end,
        } = *operation;
        let failed = u64::from(end != OperationEnd::Done);
        let mut counts = self.counts();
        let tally = match stage {
            Stage::Prepare => {
                counts.prepare_ops += 1;
                counts.prepare_errors += failed;
                return;
            }
            Stage::Ramp => &mut counts.ramp,
            Stage::Steady => &mut counts.steady,
        };
        tally.ops += 1;
        tally.errors += failed;
        tally.cut += u64::from(end == OperationEnd::Cut);
        tally.latency.record(ended.saturating_sub(intended));
        tally.service.record(ended.saturating_sub(started));
        tally.span = match tally.span {
            Some((first, last)) => Some((first.min(started), last.max(ended))),
            None => Some((started, ended)),
        };
    }

    /// Counts why an operation failed.
    pub fn fail(&self, reason: &str) {
        self.counts().failures.count(reason, 1);
    }

    /// Counts arrivals that never started.
    pub fn miss(&self, arrivals: u64) {
        self.counts().missed += arrivals;
    }

    /// Everything counted so far.
    pub fn snapshot(&self) -> Counts {
        self.counts().clone()
    }

    /// A task that panicked while it counted left whole numbers behind.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
