//! What a lane finds when it begins, and derives anew when a batch was not written.

use std::collections::BTreeMap;

use sprag_core::action::{Action, Lease};
use sprag_core::ids::{ActionId, AttemptId};
use sprag_store::traits::{DueAction, Loaded};
use sprag_store::{Error, Wanted};

use super::batch::Batch;
use super::commit::is_kept;
use super::tick::{Lane, damaged};
use crate::command::{AttemptRef, Internal, Request};
use crate::convert;
use crate::leases::Held;
use crate::options::CANCEL_GRACE_MILLIS;
use crate::timers::{Due, Timers};

/// How many records are read at once on start.
const PAGE: usize = 1_000;

impl Lane {
    /// What an earlier process left.
    pub(super) fn gather(&mut self) -> Result<(), Error> {
        self.read_control()?;
        self.gather_jobs()?;
        let lost = self.all_running()?.into_iter();
        self.lost
            .extend(lost.map(|found| Request::Internal(Internal::Lost(found.execution, found.action))));
        for line in self.store.get()?.lines(self.fence.shard)? {
            self.dispatcher.know(&line);
        }
        let mut after = None;
        loop {
            let page = self.store.get()?.deferred(self.fence.shard, after, PAGE)?;
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
    fn all_running(&mut self) -> Result<Vec<DueAction>, Error> {
        let mut running = Vec::new();
        loop {
            let after = running.last().map(|found: &DueAction| found.action);
            let page = self.store.get()?.running(self.fence.shard, after, PAGE)?;
            let full = page.len() == PAGE;
            running.extend(page);
            if !full {
                return Ok(running);
            }
        }
    }

    /// Drops everything derived from the failed batch and derives it again from what is stored.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut self.batch);
        self.unlearn(&batch);
        self.loaded = Loaded::default();
        self.cache.clear();
        self.timers = Timers::new();
        self.dispatcher.forget();
        self.pending.retain(is_kept);
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
        for found in self.all_running()? {
            self.readopt(found.action, held)?;
        }
        for line in self.store.get()?.lines(self.fence.shard)? {
            self.dispatcher.know(&line);
        }
        Ok(())
    }

    /// Machine versions that a batch applied are not stored.
    pub(super) fn unlearn(&mut self, batch: &Batch) {
        for machine in batch.newest.keys() {
            self.machines.forget(machine);
        }
    }

    /// An attempt that is under way keeps its permits, its lease if it is some program's, and its time to end if it was
    /// asked to.
    fn readopt(&mut self, action: ActionId, held: &BTreeMap<AttemptId, Held>) -> Result<(), Error> {
        let found = self.store.get()?.load(&Wanted {
            actions: vec![action],
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
