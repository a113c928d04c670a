//! The collection of one worker: its last results, and when the next pass is due.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::event::{Observation, Standing};
use super::options::CollectorOptions;
use super::service::Source;
use crate::runtime::pool::PooledTask;

/// Passes of one worker that were given up and have not returned. With more, nothing is started until one does: each
/// holds a thread.
pub(super) const STRAYS_MAX: usize = 8;

/// One worker's.
pub(super) struct Entry<O> {
    pub(super) worker: Arc<str>,
    pub(super) source: Arc<dyn Source<O>>,
    pub(super) pass: Option<Pass>,
    /// Another pass is to follow the present one at once.
    pub(super) is_triggered: bool,
    /// There is nothing to look for: the worker has no desired state yet.
    pub(super) is_idle: bool,
    /// Whether the staleness of the newest observation was reported.
    pub(super) is_told_stale: bool,
    /// When the next pass begins, if none is under way.
    pub(super) due: Timestamp,
    pub(super) observed_at: Option<Timestamp>,
    /// From when the age counts after which collection restarts.
    pub(super) since: Timestamp,
    pub(super) restarts: u32,
    pub(super) restarted_at: Timestamp,
    pub(super) error: Option<Arc<str>>,
    /// Passes that were given up and have not returned.
    pub(super) strays: Vec<u64>,
    pub(super) finish: Option<Box<Finish>>,
    /// Where it stands among those to be looked at: never later than its next moment.
    pub(super) scheduled: Option<Timestamp>,
}

/// A pass in the pool.
pub(super) struct Pass {
    pub(super) number: u64,
    pub(super) task: PooledTask,
    /// It took too long, and was cancelled.
    pub(super) is_overdue: bool,
}

/// The end of a collection.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    /// Only a pass with a higher number began after the end was asked for.
    pub(super) after: u64,
    /// It ends then in any case.
    pub(super) by: Timestamp,
}

impl<O> Entry<O> {
    pub(super) fn new(worker: &Arc<str>, source: Arc<dyn Source<O>>, now: Timestamp) -> Self {
        Self {
            worker: Arc::clone(worker),
            source,
            pass: None,
            is_triggered: false,
            is_idle: false,
            is_told_stale: false,
            due: now,
            observed_at: None,
            since: now,
            restarts: 0,
            restarted_at: now,
            error: None,
            strays: Vec::new(),
            finish: None,
            scheduled: None,
        }
    }

    /// The next moment at which something happens by itself.
    pub(super) fn next_moment(&self, options: &CollectorOptions, now: Timestamp) -> Option<Timestamp> {
        let pass = match &self.pass {
            None => Some(self.due),
            Some(pass) if pass.is_overdue => None,
            // One that is queued is asked about again as if it began now.
            Some(pass) => Some(pass.task.began().unwrap_or(now).plus(options.pass_timeout_millis)),
        };
        let stale = self.stale_at(options).filter(|_| !self.is_told_stale);
        let restart = self.restart_at(options);
        let finish = self.finish.as_ref().map(|finish| finish.by);
        [pass, stale, restart, finish].into_iter().flatten().min()
    }

    pub(super) fn stale_at(&self, options: &CollectorOptions) -> Option<Timestamp> {
        Some(self.observed_at?.plus(options.stale_millis))
    }

    pub(super) fn restart_at(&self, options: &CollectorOptions) -> Option<Timestamp> {
        match (self.is_idle || self.finish.is_some(), self.restarts) {
            (true, _) => None,
            (false, 0) => Some(self.since.plus(options.abandon_millis)),
            (false, used) => Some(self.restarted_at.plus(CollectorOptions::spacing(used + 1))),
        }
    }

    pub(super) fn standing(&self, options: &CollectorOptions, now: Timestamp) -> Standing {
        let is_current = self.stale_at(options).is_some_and(|at| now < at);
        let observation = match &self.error {
            Some(error) => Observation::Failing {
                error: Arc::clone(error),
            },
            None if is_current => Observation::Fresh,
            None => Observation::Stale,
        };
        Standing {
            observation,
            observed_at: self.observed_at,
            is_current,
            restarts: self.restarts,
            strays: self.strays.len(),
        }
    }

    /// The pass is over: the next one is due an interval after this one was, or at once if it was triggered meanwhile.
    /// Ticks come when they come, so a pass begins a little late: that is made up for. Much of it is not.
    pub(super) fn pass_over(&mut self, options: &CollectorOptions, now: Timestamp) {
        let began = self.pass.take().and_then(|pass| pass.task.began()).unwrap_or(now);
        let is_late = began.since(self.due) >= options.interval_millis / 2;
        let from = if is_late { began } else { self.due };
        let is_triggered = std::mem::take(&mut self.is_triggered);
        self.due = if is_triggered {
            now
        } else {
            from.plus(options.interval_millis).max(now)
        };
    }
}
