//! What a lane finds when it begins, and derives anew when a batch was not written.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sprag_core::action::{Action, Lease};
use sprag_core::ids::{ActionId, AttemptId};
use sprag_store::traits::{DueAction, Loaded, ReadyKey, ReadyRef};
use sprag_store::{Error, Page, ShardId, Wanted};
use tokio::sync::oneshot;

use super::batch::Batch;
use super::commit::is_kept;
use super::tick::{Lane, damaged};
use crate::command::{AttemptRef, Internal, Request};
use crate::convert;
use crate::dispatch::LINE_MAX;
use crate::leases::Held;
use crate::options::CANCEL_GRACE_MILLIS;
use crate::timers::{Due, Timers};

/// How many records are read at once on start.
const PAGE: usize = 1_000;

/// How far a lane is with what an earlier process left running.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    interrupted: usize,
    told: Option<oneshot::Sender<usize>>,
}

impl Lane {
    /// Tells how many attempts were interrupted, once all that an earlier process left running is taken up.
    pub fn recovered(&mut self) -> oneshot::Receiver<usize> {
        let (sender, receiver) = oneshot::channel();
        self.recovery.told = Some(sender);
        self.note_recovered(0);
        receiver
    }

    /// So many more interrupted attempts are taken up, durably.
    pub(super) fn note_recovered(&mut self, interrupted: usize) {
        self.recovery.interrupted += interrupted;
        if self.lost.is_empty()
            && let Some(told) = self.recovery.told.take()
        {
            // Nobody need listen.
            let _ = told.send(self.recovery.interrupted);
        }
    }

    /// What an earlier process left.
    pub(super) fn gather(&mut self) -> Result<(), Error> {
        self.read_control()?;
        self.gather_jobs()?;
        let owned: Vec<ShardId> = self.owned.all().collect();
        owned.into_iter().try_for_each(|shard| self.gather_shard(shard))
    }

    /// What whoever had a shard before left of it.
    pub(super) fn gather_shard(&mut self, shard: ShardId) -> Result<(), Error> {
        let lost = self.all_running(shard)?.into_iter();
        self.lost
            .extend(lost.map(|found| Request::Internal(Internal::Lost(found.execution, found.action))));
        self.know_lines(shard)?;
        let mut after = None;
        loop {
            let page = self.store.get()?.deferred(shard, &Page::new(after, PAGE))?.rows;
            after = page.last().copied();
            let full = page.len() == PAGE;
            self.pending
                .extend(page.into_iter().map(|id| Request::Internal(Internal::Continue(id))));
            if !full {
                return Ok(());
            }
        }
    }

    /// The actions whose attempt is under way, as stored.
    pub(super) fn all_running(&mut self, shard: ShardId) -> Result<Vec<DueAction>, Error> {
        let mut running = Vec::new();
        loop {
            let after = running.last().map(|found: &DueAction| found.action);
            let page = self.store.get()?.running(shard, &Page::new(after, PAGE))?.rows;
            let full = page.len() == PAGE;
            running.extend(page);
            if !full {
                return Ok(running);
            }
        }
    }

    /// The lines that a shard holds something of.
    pub(super) fn know_lines(&mut self, shard: ShardId) -> Result<(), Error> {
        for line in self.store.get()?.queues(shard)? {
            self.dispatcher.know(&line);
        }
        Ok(())
    }

    /// The next of a line, from all shards of which something may begin, in the order they are served.
    pub(super) fn ready(&mut self, line: &str, after: Option<&ReadyKey>) -> Result<Vec<ReadyRef>, Error> {
        let page = Page::new(after.copied(), LINE_MAX);
        let mut found = Vec::new();
        let serving: Vec<ShardId> = self.owned.serving().collect();
        let mut serving = serving.into_iter();
        if let Some(first) = serving.next() {
            found = self.rested()?.ready(first, line, &page)?.rows;
        }
        let mut is_mixed = false;
        for shard in serving {
            let more = self.rested()?.ready(shard, line, &page)?.rows;
            is_mixed |= !more.is_empty();
            found.extend(more);
        }
        if is_mixed {
            found.sort_unstable_by_key(|ready| (Reverse(ready.key.priority), ready.key.run_at, ready.key.action));
            found.truncate(LINE_MAX);
        }
        Ok(found)
    }

    /// Drops everything derived from the failed batch and derives it again from what is stored.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut self.batch);
        self.unlearn(&batch);
        self.loaded = Loaded::default();
        self.cache.clear();
        self.timers = Timers::new(self.owned.shards(), self.owned.all());
        self.dispatcher.forget();
        self.pending.retain(is_kept);
        self.alone.clear();
        let held = self.dispatcher.leases.take();
        let derived = self.derive(&held);
        if derived.is_err() {
            // The store cannot be read now; what programs hold is known from here alone until it can.
            for held in held.into_values() {
                self.dispatcher.leases.hold(held);
            }
        }
        derived
    }

    /// What is stored of switches, attempts under way and lines.
    fn derive(&mut self, held: &BTreeMap<AttemptId, Held>) -> Result<(), Error> {
        self.read_control()?;
        let owned: Vec<ShardId> = self.owned.all().collect();
        for shard in owned {
            let running: Vec<ActionId> = self.all_running(shard)?.iter().map(|found| found.action).collect();
            for page in running.chunks(PAGE) {
                self.readopt(page, held)?;
            }
            self.know_lines(shard)?;
        }
        Ok(())
    }

    /// Machine versions that a batch applied are not stored.
    pub(super) fn unlearn(&mut self, batch: &Batch) {
        for machine in batch.newest.keys() {
            self.machines.forget(machine);
        }
    }

    /// Attempts that are under way keep their permits, their lease if they are some program's, and their time to end if
    /// they were asked to.
    fn readopt(&mut self, actions: &[ActionId], held: &BTreeMap<AttemptId, Held>) -> Result<(), Error> {
        let found = self.store.get()?.load(&Wanted {
            actions: actions.to_vec(),
            ..Wanted::default()
        })?;
        for row in found.actions {
            let action = convert::action_from(row).map_err(|error| damaged(&error))?;
            let Some(current) = action.current() else {
                continue;
            };
            let (attempt, lease) = (current.id, current.lease.clone());
            self.dispatcher.adopt(attempt, &action, self.now);
            if let Some(lease) = lease {
                let known = held.get(&attempt).map(|held| held.lease.clone());
                self.adopt_lease(&action, attempt, known.unwrap_or_else(|| lease.renewed(self.now)));
            } else {
                self.keep_time_to_end(&action, attempt);
                self.settle_unsure(AttemptRef {
                    attempt,
                    action: action.id,
                    execution: action.origin.execution,
                });
            }
        }
        Ok(())
    }

    /// An attempt that is some program's stays so until its lease is over.
    pub(crate) fn adopt_lease(&mut self, action: &Action, attempt: AttemptId, lease: Lease) {
        let at = AttemptRef {
            attempt,
            action: action.id,
            execution: action.origin.execution,
        };
        self.timers.add(lease.until, Due::Lease(at));
        self.dispatcher.leases.hold(Held {
            at,
            lease,
            cancel_requested: action.body.cancel.is_some(),
        });
        self.keep_time_to_end(action, attempt);
    }

    fn keep_time_to_end(&mut self, action: &Action, attempt: AttemptId) {
        if let Some(request) = action.body.cancel {
            let at = AttemptRef {
                attempt,
                action: action.id,
                execution: action.origin.execution,
            };
            self.timers.add(request.at.plus(CANCEL_GRACE_MILLIS), Due::Overdue(at));
        }
    }
}
