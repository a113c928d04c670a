//! The collector itself: the workers that it observes, and the scan of every tick.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use super::calendar::Calendar;
use super::entries::{Entries, EntryKey};
use super::entry::{Entry, Finish, Pass, STRAYS_MAX};
use super::event::{CollectorCounts, CollectorEvent, Standing};
use super::options::{CollectorOptions, ThresholdsError};
use super::pass::{PassNotes, pass};
use crate::runtime::pool::Pool;
use crate::worker::CollectError;

/// Passes started in one scan. More are due at the next one, so a hundred thousand workers that were added at once are
/// looked at in turns.
const STARTS_PER_SCAN_MAX: usize = 16_384;

/// Makes passes of one worker.
pub trait Source<O>: Send + Sync {
    /// A pass, which does nothing before it is polled; `None`: the worker has no desired state yet. Called on the tick.
    fn pass(&self) -> Option<BoxFuture<'static, Result<O, CollectError>>>;
}

impl<O, F> Source<O> for F
where
    F: Fn() -> Option<BoxFuture<'static, Result<O, CollectError>>> + Send + Sync,
{
    fn pass(&self) -> Option<BoxFuture<'static, Result<O, CollectError>>> {
        self()
    }
}

/// The worker is being collected already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{worker}` is being collected already; stop that first")]
pub struct AlreadyCollecting {
    /// Who.
    pub worker: Arc<str>,
}

/// Looks at all workers. `O` is what a look brings.
pub struct Collector<O> {
    pub(super) options: CollectorOptions,
    pub(super) pool: Pool,
    pub(super) notes: Arc<PassNotes<O>>,
    pub(super) entries: Entries<O>,
    due: Calendar,
    passes: u64,
    pub(super) events: Vec<CollectorEvent<O>>,
    pub(super) counts: CollectorCounts,
}

impl<O: Send + 'static> Collector<O> {
    /// A collector whose passes run in `pool`.
    pub fn new(options: CollectorOptions, pool: Pool) -> Result<Self, ThresholdsError> {
        options.check()?;
        Ok(Self {
            options,
            pool,
            notes: Arc::default(),
            entries: Entries::default(),
            due: Calendar::default(),
            passes: 0,
            events: Vec::new(),
            counts: CollectorCounts::default(),
        })
    }

    /// Begins to look at a worker; its first pass starts with the next scan.
    pub fn start(
        &mut self,
        worker: &Arc<str>,
        source: Arc<dyn Source<O>>,
        now: Timestamp,
    ) -> Result<(), AlreadyCollecting> {
        if self.entries.key(worker).is_some() {
            return Err(AlreadyCollecting {
                worker: Arc::clone(worker),
            });
        }
        let key = self.entries.insert(worker, Entry::new(worker, source, now));
        self.reschedule(key, now);
        Ok(())
    }

    /// No longer looks at a worker; what a pass still brings is dropped. Whether it was looked at.
    pub fn stop(&mut self, worker: &str) -> bool {
        let key = self.entries.key(worker);
        key.and_then(|key| self.entries.remove(key)).is_some()
    }

    /// Has a worker looked at by the next scan. While a pass is under way, however often this is called, one more
    /// follows it.
    pub fn trigger(&mut self, worker: &str, now: Timestamp) {
        let Some(key) = self.entries.key(worker) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(key) {
            entry.is_triggered = entry.pass.is_some();
            if entry.pass.is_none() {
                entry.due = entry.due.min(now);
            }
        }
        self.reschedule(key, now);
    }

    /// Looks at a worker one last time, and stops. [`CollectorEvent::Finished`] follows in any case: after that pass,
    /// or when the time of two passes is over.
    pub fn finish(&mut self, worker: &str, now: Timestamp) {
        let finish = Finish {
            after: self.passes,
            by: now.plus(self.options.pass_timeout_millis.saturating_mul(2)),
        };
        let key = self.entries.key(worker);
        if let Some(entry) = key.and_then(|key| self.entries.get_mut(key)) {
            entry.finish.get_or_insert_with(|| Box::new(finish));
        }
        self.trigger(worker, now);
    }

    /// How a worker's collection stands.
    pub fn standing(&self, worker: &str, now: Timestamp) -> Option<Standing> {
        let key = self.entries.key(worker)?;
        Some(self.entries.get(key)?.standing(&self.options, now))
    }

    /// How many workers are looked at.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was counted.
    pub fn counts(&self) -> CollectorCounts {
        self.counts
    }

    /// One tick's look: what passes brought, what took too long, what is due. Never waits for a pass.
    pub fn scan(&mut self, now: Timestamp) -> Vec<CollectorEvent<O>> {
        self.pool.threads().watch(now);
        for note in self.notes.take() {
            self.take_note(note, now);
        }
        let first = self.counts.passes;
        let is_room = |counts: &CollectorCounts| counts.passes - first < STARTS_PER_SCAN_MAX as u64;
        while is_room(&self.counts)
            && let Some((at, mut keys)) = self.due.take_first(now)
        {
            let mut looked = 0;
            while is_room(&self.counts)
                && let Some(key) = keys.get(looked).copied()
            {
                looked += 1;
                self.look_at_moment(key, at, now);
            }
            self.due.put_back(at, keys.split_off(looked));
        }
        std::mem::take(&mut self.events)
    }

    /// A moment of the worker has come, unless it stands elsewhere by now.
    fn look_at_moment(&mut self, key: EntryKey, at: Timestamp, now: Timestamp) {
        let entry = self.entries.get_mut(key);
        let Some(entry) = entry.filter(|entry| entry.scheduled == Some(at)) else {
            return;
        };
        entry.scheduled = None;
        self.look(key, now);
        self.reschedule(key, now);
    }

    /// Schedules the worker's next look. One that is scheduled earlier already is looked at for nothing then,
    /// which is cheaper than to move it each time.
    pub(super) fn reschedule(&mut self, key: EntryKey, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let Some(next) = entry.next_moment(&self.options, now) else {
            return;
        };
        if entry.scheduled.is_none_or(|at| next < at) {
            entry.scheduled = Some(next);
            self.due.insert(next, key);
        }
    }

    /// Puts a pass into the pool, unless there is nothing to look for.
    pub(super) fn begin_pass(&mut self, key: EntryKey, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let next_due = now.plus(self.options.interval_millis);
        if entry.strays.len() >= STRAYS_MAX {
            entry.due = next_due;
            return;
        }
        let Some(look) = entry.source.pass() else {
            entry.is_idle = true;
            entry.due = next_due;
            return;
        };
        if std::mem::take(&mut entry.is_idle) {
            entry.since = entry.since.max(now);
        }
        let number = self.passes + 1;
        match self.pool.submit(pass((key, number), Arc::clone(&self.notes), look)) {
            Ok(task) => {
                self.passes = number;
                self.counts.passes += 1;
                entry.pass = Some(Pass {
                    number,
                    task,
                    is_overdue: false,
                });
            }
            // It stays due.
            Err(_) => entry.due = next_due,
        }
    }
}
