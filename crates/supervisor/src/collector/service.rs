//! Who is collected, and the scan of every tick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use super::entry::{Entry, Finish, Pass, STRAYS_MAX};
use super::event::{CollectorCounts, CollectorEvent, Standing};
use super::options::{CollectorOptions, ThresholdsError};
use super::pass::{Notes, Which, future};
use crate::pool::Pool;
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
    pub(super) notes: Arc<Notes<O>>,
    pub(super) entries: BTreeMap<Arc<str>, Entry<O>>,
    due: BTreeSet<(Timestamp, Arc<str>)>,
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
            entries: BTreeMap::new(),
            due: BTreeSet::new(),
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
        if self.entries.contains_key(worker) {
            return Err(AlreadyCollecting {
                worker: Arc::clone(worker),
            });
        }
        self.entries.insert(Arc::clone(worker), Entry::new(source, now));
        self.reschedule(worker);
        Ok(())
    }

    /// No longer looks at a worker; what a pass still brings is dropped. Whether it was looked at.
    pub fn stop(&mut self, worker: &str) -> bool {
        let Some((worker, entry)) = self.entries.remove_entry(worker) else {
            return false;
        };
        if let Some(at) = entry.scheduled {
            self.due.remove(&(at, worker));
        }
        true
    }

    /// Has a worker looked at by the next scan. While a pass is under way, however often this is called, one more
    /// follows it.
    pub fn trigger(&mut self, worker: &str, now: Timestamp) {
        let Some((worker, _)) = self.entries.get_key_value(worker) else {
            return;
        };
        let worker = Arc::clone(worker);
        if let Some(entry) = self.entries.get_mut(&worker) {
            entry.is_triggered = entry.pass.is_some();
            if entry.pass.is_none() {
                entry.due = entry.due.min(now);
            }
        }
        self.reschedule(&worker);
    }

    /// Looks at a worker one last time, and stops. [`CollectorEvent::Finished`] follows in any case: after that pass,
    /// or when the time of two passes is over.
    pub fn finish(&mut self, worker: &str, now: Timestamp) {
        let finish = Finish {
            after: self.passes,
            by: now.plus(self.options.pass_timeout_millis.saturating_mul(2)),
        };
        if let Some(entry) = self.entries.get_mut(worker) {
            entry.finish.get_or_insert(finish);
        }
        self.trigger(worker, now);
    }

    /// How a worker's collection stands.
    pub fn standing(&self, worker: &str, now: Timestamp) -> Option<Standing> {
        Some(self.entries.get(worker)?.standing(&self.options, now))
    }

    /// How many workers are looked at.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What was counted.
    pub fn counts(&self) -> CollectorCounts {
        self.counts
    }

    /// One tick's look: what passes brought, what took too long, what is due. Never waits for a pass.
    pub fn scan(&mut self, now: Timestamp) -> Vec<CollectorEvent<O>> {
        self.pool.threads().watch(now);
        for note in self.notes.take() {
            self.hear(note, now);
        }
        let first = self.counts.passes;
        while let Some(worker) = self.take_due(now) {
            self.look(&worker, now);
            self.reschedule(&worker);
            if self.counts.passes - first >= STARTS_PER_SCAN_MAX as u64 {
                break;
            }
        }
        std::mem::take(&mut self.events)
    }

    fn take_due(&mut self, now: Timestamp) -> Option<Arc<str>> {
        if self.due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, worker) = self.due.pop_first()?;
        if let Some(entry) = self.entries.get_mut(&worker) {
            entry.scheduled = None;
        }
        Some(worker)
    }

    /// Puts the worker where the next look at it is due.
    pub(super) fn reschedule(&mut self, worker: &Arc<str>) {
        let Some(entry) = self.entries.get_mut(worker) else {
            return;
        };
        let next = entry.next_moment(&self.options);
        if entry.scheduled == next {
            return;
        }
        if let Some(old) = std::mem::replace(&mut entry.scheduled, next) {
            self.due.remove(&(old, Arc::clone(worker)));
        }
        if let Some(new) = next {
            self.due.insert((new, Arc::clone(worker)));
        }
    }

    /// Puts a pass into the pool, unless there is nothing to look for.
    pub(super) fn begin_pass(&mut self, worker: &Arc<str>, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(worker) else {
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
        let which = Which {
            worker: Arc::clone(worker),
            number,
            time: self.pool.threads().tick_time(),
        };
        match self.pool.submit(future(which, Arc::clone(&self.notes), look)) {
            Ok(place) => {
                self.passes = number;
                self.counts.passes += 1;
                entry.pass = Some(Pass {
                    number,
                    place,
                    began: None,
                    is_overdue: false,
                });
            }
            // It stays due.
            Err(_) => entry.due = next_due,
        }
    }
}
