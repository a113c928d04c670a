//! Reads the store into memory: what a batch needs, queues and timers whose next page is due, what operators set.
//!
//! The only reads of a lane. Rows become what decisions use here, so a damaged row or a missing machine version never
//! reaches a decision.

use std::cmp::Reverse;
use std::sync::Arc;

use sprag_core::ids::{ActionId, WorkflowId};
use sprag_core::operation::read_stored;
use sprag_core::time::Timestamp;
use sprag_store::records::{self, FactKind, Receipt, Timer, TimerKey};
use sprag_store::traits::{DueAction, DuePlan, Loaded, LoadedExecution, ReadyKey, ReadyRef};
use sprag_store::{Error, Page, ShardId, Wanted};

use super::backlog::Backlog;
use super::upkeep::Upkeep;
use crate::commit::ReadStore;
use crate::decide::catalog::StoredCatalog;
use crate::decide::plans::{self, PlanState};
use crate::decide::state::ExecutionState;
use crate::decide::{DueSource, Known, Missing, Shards, compile, convert};
use crate::effects::Board;
use crate::engine::options::Retention;
use crate::queue::LINE_MAX;
use crate::queue::control::{Control, StoredControl};

/// The store and what is read from it. It exists only while no commit is in flight.
pub(super) struct Loader<'a> {
    pub(super) store: ReadStore<'a>,
    pub(super) known: &'a mut Known,
    pub(super) shards: &'a Shards,
    pub(super) backlog: &'a mut Backlog,
    pub(super) upkeep: &'a mut Upkeep,
    pub(super) board: &'a Board,
    pub(super) retention: Option<Retention>,
    /// The instant of the batch.
    pub(super) now: Timestamp,
    /// The instant at which what is read is known to be stored.
    pub(super) stored_at: Timestamp,
}

impl Loader<'_> {
    /// Loads what a batch misses, with the machine versions of what was found.
    pub(super) fn load(&mut self, missing: &Missing) -> Result<(), Error> {
        if missing.control {
            self.refresh_control()?;
            self.known.found.is_control_fresh = true;
        }
        if missing.catalog {
            self.known.catalog = Some(Arc::new(self.read_catalog()?));
        }
        if missing.wanted == Wanted::default() {
            return Ok(());
        }
        let mut loaded = self.store.load(&missing.wanted)?;
        let executions = std::mem::take(&mut loaded.executions);
        let actions = std::mem::take(&mut loaded.actions);
        self.note_absent(&missing.wanted);
        self.absorb(loaded)?;
        self.take_in_actions(actions);
        self.take_in_executions(executions)?;
        self.load_versions(self.versions_of_actions())
    }

    /// Notes everything that was asked for as absent: what was found overwrites it.
    fn note_absent(&mut self, wanted: &Wanted) {
        let found = &mut self.known.found;
        found.no_execution.extend(&wanted.executions);
        found.no_version.extend(wanted.versions.iter().cloned());
        found.keys.extend(wanted.keys.iter().map(|key| (key.clone(), None)));
        found.actions.extend(wanted.actions.iter().map(|id| (*id, None)));
        found
            .receipts
            .extend(wanted.receipts.iter().map(|name| (name.clone(), None)));
        found
            .newest
            .extend(wanted.newest.iter().map(|name| (name.clone(), None)));
        found
            .digests
            .extend(wanted.version_by_digest.iter().map(|name| (name.clone(), None)));
        found
            .answers
            .extend(wanted.idempotency.iter().map(|scope| (*scope, None)));
        found.plans.extend(wanted.plans.iter().map(|id| (*id, None)));
    }

    /// Everything in the catalog, in its newest version.
    fn read_catalog(&mut self) -> Result<StoredCatalog, Error> {
        let mut catalog = StoredCatalog::default();
        for row in self.store.catalog()? {
            let corrupt = |detail: String| Error::Corrupt {
                detail: format!("{} `{}` version {}: {detail}", row.kind.word(), row.name, row.version),
            };
            let definition = serde_json::from_slice(&row.definition).map_err(|error| corrupt(error.to_string()))?;
            let document = read_stored(&definition).map_err(|error| corrupt(error.to_string()))?;
            catalog.insert(row.version, document);
        }
        Ok(catalog)
    }

    /// Takes what was found into memory, but for executions and actions.
    fn absorb(&mut self, loaded: Loaded) -> Result<(), Error> {
        let Loaded {
            executions: _,
            keys,
            actions: _,
            receipts,
            newest,
            versions,
            version_by_digest,
            idempotency,
            plans,
            proposals,
        } = loaded;
        for row in versions {
            let compiled = compile(&row.definition).map_err(|detail| Error::Corrupt {
                detail: format!("machine `{}` version {}: {detail}", row.machine, row.version),
            })?;
            self.known.machines.put(&row.machine, row.version, Arc::new(compiled));
        }
        let found = &mut self.known.found;
        found.keys.extend(keys.into_iter().map(|(key, id)| (key, Some(id))));
        let receipt = |row: Receipt| ((row.execution, row.message), Some(row.answer));
        found.receipts.extend(receipts.into_iter().map(receipt));
        self.known.machines.learn(newest.iter().cloned());
        found
            .newest
            .extend(newest.into_iter().map(|(name, version)| (name, Some(version))));
        let digest = |(name, version)| (name, Some(version));
        found.digests.extend(version_by_digest.into_iter().map(digest));
        found
            .answers
            .extend(idempotency.into_iter().map(|stored| (stored.scope, Some(stored))));
        let open = proposals.into_iter().map(|found| (found.proposer, found.open));
        found.proposals.extend(open);
        self.take_in_plans(plans);
        Ok(())
    }

    /// Takes plans into memory. A request for a damaged one is refused; others are not concerned.
    fn take_in_plans(&mut self, rows: Vec<records::Plan>) {
        let found = &mut self.known.found;
        for row in rows {
            let id = row.id;
            match PlanState::read(row) {
                Ok(plan) => drop(found.plans.insert(id, Some(plan))),
                Err(error) => {
                    tracing::error!(workflow = %id, code = "record-damaged", %error, "plan damaged, left alone");
                    found.damaged_plans.insert(id, error.to_string());
                }
            }
        }
    }

    /// The plans that executions run, and those of their actions that need approval.
    fn load_plans(&mut self, states: &mut [ExecutionState]) -> Result<(), Error> {
        let ids: Vec<WorkflowId> = states.iter().flat_map(plans::plans_of).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let wanted = Wanted {
            plans: ids,
            ..Wanted::default()
        };
        let rows = self.store.load(&wanted)?.plans;
        self.take_in_plans(rows);
        for state in states {
            for id in plans::plans_of(state).collect::<Vec<_>>() {
                let plan = self.known.found.plans.get(&id).cloned().flatten();
                // Without its plan nothing of it may run: the gate finds none.
                state.plans.extend(plan.map(|plan| (id, plan)));
            }
        }
        Ok(())
    }

    /// Takes actions into memory. A request for a damaged one is refused; others are not concerned.
    fn take_in_actions(&mut self, rows: Vec<records::Action>) {
        let found = &mut self.known.found;
        for row in rows {
            let id = row.id;
            match convert::action_from(row) {
                Ok(action) => drop(found.actions.insert(id, Some(action))),
                Err(error) => {
                    tracing::error!(action = %id, code = "record-damaged", %error, "action damaged, left alone");
                    found.damaged_actions.insert(id, error.to_string());
                }
            }
        }
    }

    /// Takes executions into memory, with their machine versions. A request for a damaged one is refused; others are not
    /// concerned.
    fn take_in_executions(&mut self, rows: Vec<LoadedExecution>) -> Result<(), Error> {
        let mut states = Vec::with_capacity(rows.len());
        for row in rows {
            let id = row.execution.id;
            match convert::execution_from(row) {
                Ok(state) => states.push(state),
                Err(error) => {
                    tracing::error!(execution = %id, code = "record-damaged", %error, "execution damaged, left alone");
                    self.known.found.damaged.insert(id, error.to_string());
                }
            }
        }
        let versions = states.iter().flat_map(|state| {
            let own = (state.head.machine.to_string(), state.head.version);
            let open = state
                .open()
                .map(|action| (action.origin.machine.clone(), action.origin.version));
            std::iter::once(own).chain(open)
        });
        self.load_versions(versions.collect())?;
        self.load_plans(&mut states)?;
        for state in states {
            let (machine, version) = (&state.head.machine, state.head.version);
            let pinned = self.known.machines.pin(machine, version, state.open());
            let pinned = pinned.map_err(|missing| Error::Corrupt {
                detail: format!("machine `{machine}` version {} is not stored", missing.0),
            })?;
            self.known.found.no_execution.remove(&state.head.id);
            self.known.executions.put(state, pinned);
        }
        Ok(())
    }

    /// The machine versions that the actions found follow.
    fn versions_of_actions(&self) -> Vec<(String, u32)> {
        let found = self.known.found.actions.values().flatten();
        found
            .map(|action| (action.origin.machine.clone(), action.origin.version))
            .collect()
    }

    /// Loads the machine versions of these that memory does not hold.
    fn load_versions(&mut self, mut versions: Vec<(String, u32)>) -> Result<(), Error> {
        versions.retain(|(machine, version)| !self.known.machines.has(machine, *version));
        versions.sort_unstable();
        versions.dedup();
        if versions.is_empty() {
            return Ok(());
        }
        let wanted = Wanted {
            versions,
            ..Wanted::default()
        };
        let loaded = self.store.load(&wanted)?;
        self.note_absent(&wanted);
        self.absorb(loaded)
    }

    /// Reads the next page of due times and of queues of which nothing is in memory.
    pub(super) fn refill(&mut self) -> Result<(), Error> {
        if self.known.timers.is_hungry(self.now) {
            self.known.timers.refill(&mut self.store, self.now)?;
        }
        self.refill_queues()
    }

    pub(super) fn refill_queues(&mut self) -> Result<(), Error> {
        let hungry = self.known.queue.hungry();
        hungry.iter().try_for_each(|line| self.refill_queue(line))
    }

    /// Reads on in a queue until it holds something that may be chosen, or nothing is left.
    fn refill_queue(&mut self, line: &str) -> Result<(), Error> {
        let mut after = None;
        loop {
            let found = self.ready(line, after)?;
            after = found.last().map(|last| last.key);
            let Known { queue, set_aside, .. } = &mut *self.known;
            if !queue.refill(line, found, |execution| set_aside.contains(&execution)) {
                return Ok(());
            }
        }
    }

    /// The next of a queue, from all shards of which something may start, in the order they are served.
    fn ready(&mut self, line: &str, after: Option<ReadyKey>) -> Result<Vec<ReadyRef>, Error> {
        let page = Page::new(after, LINE_MAX);
        let (mut found, mut pages) = (Vec::new(), 0);
        for shard in self.shards.serving() {
            let rows = self.store.ready(shard, line, &page)?.rows;
            pages += usize::from(!rows.is_empty());
            found.extend(rows);
        }
        if pages > 1 {
            found.sort_unstable_by_key(|ready| (Reverse(ready.key.priority), ready.key.run_at, ready.key.action));
            found.truncate(LINE_MAX);
        }
        Ok(found)
    }

    /// Reads the ends of the audit's chains, as they are stored.
    pub(super) fn read_audit_heads(&mut self) -> Result<(), Error> {
        let heads = self.store.audit_heads()?.into_iter();
        self.known.audit_heads = heads.map(|head| (ShardId(head.shard), head)).collect();
        Ok(())
    }

    /// Reads what operators have set, as it is stored.
    pub(super) fn read_control(&mut self) -> Result<(), Error> {
        let stored = StoredControl {
            switches: self.store.facts(FactKind::Switch)?,
            limits: self.store.facts(FactKind::Limit)?,
            tokens: self.store.facts(FactKind::Token)?,
            marks: self.store.facts(FactKind::Mark)?,
            last_run: self.store.last_run()?,
        };
        let mut read = Control::of(&stored)?;
        read.inherit(&mut self.known.control);
        read.is_stored(self.stored_at);
        read.next_sweep(self.now);
        read.aged_at = self.now;
        let Known { control, queue, .. } = &mut *self.known;
        let old = std::mem::replace(control, read);
        for key in old.overrides.keys() {
            queue.set_override(key, None);
        }
        for (key, overridden) in &control.overrides {
            queue.set_override(key, Some(overridden.numbers));
        }
        self.board.show(&control.switches);
        self.board.show_tokens(&control.tokens);
        Ok(())
    }
}

impl DueSource for ReadStore<'_> {
    type Error = Error;

    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Vec<Timer>, Error> {
        Ok((**self).due_timers(shard, until, page)?.rows)
    }

    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Vec<DueAction>, Error> {
        Ok((**self).due_actions(shard, until, page)?.rows)
    }

    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Vec<DuePlan>, Error> {
        Ok((**self).due_plans(shard, until, page)?.rows)
    }
}

pub(crate) fn damaged_error(error: &convert::Unreadable) -> Error {
    Error::Unreadable {
        detail: error.to_string(),
    }
}
