//! A store in memory, for the simulator and for tests.
//!
//! It refuses and orders as the backends on disk do. A clone is another handle to the same records: dropping the lane
//! and opening another on a clone is what a crash looks like, because a commit is all or nothing.

mod cluster;
mod load;
mod refusals;
mod search;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::action::Status;
use sprag_core::clock::Clock;
use sprag_core::filter::Condition;
use sprag_core::ids::{ActionId, ExecutionId, JobId};
use sprag_core::time::Timestamp;

pub use self::cluster::MemoryNodes;
use self::cluster::{Cluster, Part};
use self::refusals::Refusals;
pub use self::refusals::Rule;
use self::state::{State, numbers_of, timers_of};
use crate::page::{Most, ReadKind, Weight, filled};
use crate::records::{
    Action, Execution, ExecutionStatus, Fact, FactKind, HistoryEntry, Job, JobItem, Life, MachineVersion, Scope, Timer,
    TimerKey,
};
use crate::traits::{
    ActionQuery, Aged, AgedPage, CommitStore, Counted, DueAction, Error, ExecutionQuery, Fence, FileBytes, Found,
    LaneReads, Loaded, Mutation, OpenAction, QueuedLine, Reader, Readers, ReadyKey, ReadyRef, Search, ShardId, Wanted,
    Window, first_after,
};

const SCHEDULED: u8 = Status::Scheduled as u8;
const QUEUED: u8 = Status::Queued as u8;
const RUNNING: u8 = Status::Running as u8;
const RETRYING: u8 = Status::Retrying as u8;
const DEAD: u8 = Status::Dead as u8;

/// A handle to records in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    refusals: Refusals,
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A store with so many shards; the default has one.
    pub fn with_shards(shards: u32) -> Self {
        let memory = Self::default();
        memory.state().cluster = Cluster::of(shards);
        memory
    }

    /// Refuses every commit with a write that the rule names from now on, as a constraint of a database would.
    pub fn refuse_where(&self, rule: Option<Rule>) {
        self.refusals.follow(rule);
    }

    /// The same store, as the nodes on it see each other. `clock` tells the database's time.
    pub fn nodes(&self, clock: Arc<dyn Clock>) -> MemoryNodes {
        MemoryNodes::new(self.clone(), clock)
    }

    /// Whether a fence is that of the present owner.
    pub fn holds(&self, fence: Fence) -> bool {
        self.state().cluster.holds(fence)
    }

    /// What `read` finds in one shard.
    fn read_shard<T>(&self, shard: ShardId, read: impl FnOnce(Part<'_>) -> Vec<T>) -> Vec<T> {
        let state = self.state();
        read(Part::of(&state, shard))
    }
}

impl CommitStore for Memory {
    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(broken) = fences.iter().find(|fence| !state.cluster.holds(**fence)) {
            return Err(Error::FenceBroken { shard: broken.shard });
        }
        let mut undo = Vec::with_capacity(mutations.len());
        for mutation in mutations {
            match self.refusals.check(mutation).and_then(|()| state.change(mutation)) {
                Ok(change) => undo.push(state.put(change)),
                Err(problem) => {
                    while let Some(change) = undo.pop() {
                        state.put(change);
                    }
                    return Err(problem);
                }
            }
        }
        Ok(())
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        self.state().cluster.raise(shard).ok_or_else(|| Error::Refused {
            detail: format!("there is no shard {}", shard.0),
        })
    }
}

impl LaneReads for Memory {
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        Ok(load::load(&self.state(), wanted))
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.machine(machine, Some(version))
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        Ok(load::with_digest(&self.state(), machine, digest))
    }

    fn last_life(&mut self) -> Result<Option<Life>, Error> {
        Ok(self.state().lives.last_key_value().map(|(_, life)| *life))
    }

    fn ready(
        &mut self,
        shard: ShardId,
        line: &str,
        after: Option<&ReadyKey>,
        limit: usize,
    ) -> Result<Vec<ReadyRef>, Error> {
        Ok(self.read_shard(shard, |state| {
            let mut found: Vec<ReadyRef> = state
                .open_with(&[QUEUED])
                .filter(|action| action.line == line)
                .map(ready_ref)
                .collect();
            found.sort_unstable_by_key(|found| served(&found.key));
            found.retain(|found| after.is_none_or(|after| served(&found.key) > served(after)));
            found.truncate(limit);
            found
        }))
    }

    fn lines(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        Ok(self.read_shard(shard, |state| {
            let mut lines: Vec<String> = state.open_with(&[QUEUED]).map(|action| action.line.clone()).collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        }))
    }

    fn due_timers(&mut self, shard: ShardId, window: &Window<TimerKey>) -> Result<Vec<Timer>, Error> {
        Ok(self.read_shard(shard, |state| {
            let due = state.timers().filter(|timer| timer.due_at <= window.until).cloned();
            page(
                due,
                |timer| (timer.due_at, timer.key),
                window.after.as_ref(),
                window.limit,
            )
        }))
    }

    fn due_actions(&mut self, shard: ShardId, window: &Window<ActionId>) -> Result<Vec<DueAction>, Error> {
        Ok(self.read_shard(shard, |state| {
            let waiting = state.open_with(&[SCHEDULED, RETRYING]).map(due_action);
            let due = waiting.filter(|action| action.run_at <= window.until);
            page(
                due,
                |action| (action.run_at, action.action),
                window.after.as_ref(),
                window.limit,
            )
        }))
    }

    fn running(&mut self, shard: ShardId, after: Option<ActionId>, limit: usize) -> Result<Vec<DueAction>, Error> {
        Ok(self.read_shard(shard, |state| {
            page(
                state.open_with(&[RUNNING]).map(due_action),
                |action| action.action,
                after.as_ref(),
                limit,
            )
        }))
    }

    fn deferred(
        &mut self,
        shard: ShardId,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, Error> {
        Ok(self.read_shard(shard, |state| {
            let inbox = state.all.inbox.keys().map(|(execution, _)| *execution);
            let mut waiting: Vec<ExecutionId> = inbox.filter(|id| state.has(id.slot())).collect();
            waiting.dedup();
            waiting.retain(|id| state.all.executions.get(id).is_some_and(is_running));
            page(waiting.into_iter(), |id| *id, after.as_ref(), limit)
        }))
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        let state = self.state();
        Ok(state.facts.values().filter(|fact| fact.kind == kind).cloned().collect())
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        after: Option<OpenAction>,
        limit: usize,
    ) -> Result<Vec<OpenAction>, Error> {
        let open = |action: &Action| OpenAction {
            execution: action.execution,
            action: action.id,
        };
        Ok(self.read_shard(shard, |state| {
            page(
                state.open_with(&[status]).map(open),
                |open| *open,
                after.as_ref(),
                limit,
            )
        }))
    }

    fn aged(&mut self, shard: ShardId, page: &AgedPage) -> Result<Vec<Aged>, Error> {
        let AgedPage { before, after, limit } = page;
        Ok(self.read_shard(shard, |state| {
            let old = state.all.executions.values().filter(|execution| {
                state.has(execution.id.slot())
                    && execution.id < first_after(*before)
                    && after.is_none_or(|after| execution.id > after)
            });
            old.take(*limit)
                .map(|execution| aged(state.all, execution, *before))
                .collect()
        }))
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Found<Action, ActionId>, Error> {
        Reader::find_actions(self, search)
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        Ok(self.read_shard(shard, |state| {
            let open = state.jobs().filter(|job| job.status.is_open());
            open.cloned().collect()
        }))
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        let beyond = self.read_shard(shard, |state| {
            let over = state.jobs().rev().filter(|job| !job.status.is_open());
            over.skip(kept).take(1).cloned().collect()
        });
        Ok(beyond.into_iter().next())
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        Ok(self.read_shard(shard, |state| {
            let all = state.all.idempotency.values();
            let kept = all.filter(|record| state.has(record.scope.slot()));
            page(
                kept.map(|record| (record.expires_at, record.scope)),
                |expiry| *expiry,
                None,
                limit,
            )
        }))
    }
}

/// Whether an old execution may be deleted.
fn aged(state: &State, execution: &Execution, before: Timestamp) -> Aged {
    let is_needed = |action: &Action| action.status <= RETRYING || action.status == DEAD;
    let mut actions = state.actions.values();
    Aged {
        execution: execution.id,
        entries: execution.sequence,
        goes: !execution.status.is_open()
            && execution.updated_at <= before
            && !actions.any(|action| action.execution == execution.id && is_needed(action)),
    }
}

/// A page of rows in order, as readers see it.
fn listed<'r, T: Weight + Clone + 'r>(rows: impl Iterator<Item = &'r T>, most: Most) -> Result<Vec<T>, Error> {
    filled(rows.map(|row| Ok(row.clone())), most)
}

impl Readers for Memory {
    fn reader(&self, _: ReadKind) -> Result<Box<dyn Reader + '_>, Error> {
        Ok(Box::new(self.clone()))
    }

    fn snapshot(&self, _: &Fact) -> Result<std::fs::File, Error> {
        Err(Error::Unsupported {
            remedy: "a store in memory makes no copies of itself; use one that is a file".to_owned(),
        })
    }
}

impl Reader for Memory {
    fn machines(&self, after: Option<&str>, limit: usize) -> Result<Vec<MachineVersion>, Error> {
        let state = self.state();
        let names = state.machines.keys().map(|(machine, _)| machine);
        let mut names: Vec<&String> = names
            .filter(|name| after.is_none_or(|after| name.as_str() > after))
            .collect();
        names.dedup();
        let newest = names.into_iter().filter_map(|machine| load::newest(&state, machine));
        listed(newest, Most::rows(limit))
    }

    fn machine(&self, machine: &str, version: Option<u32>) -> Result<Option<MachineVersion>, Error> {
        let state = self.state();
        let found = match version {
            Some(version) => state.machines.get(&(machine.to_owned(), version)),
            None => load::newest(&state, machine),
        };
        Ok(found.cloned())
    }

    fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, Error> {
        Ok(self.state().executions.get(&id).cloned())
    }

    fn execution_status(&self, id: ExecutionId) -> Result<Option<ExecutionStatus>, Error> {
        Ok(self.state().executions.get(&id).map(|execution| execution.status))
    }

    fn execution_by_key(&self, machine: &str, key: &str) -> Result<Option<ExecutionId>, Error> {
        Ok(self.state().holders.get(&(machine.to_owned(), key.to_owned())).copied())
    }

    fn executions(&self, query: &ExecutionQuery) -> Result<Vec<Execution>, Error> {
        let ExecutionQuery {
            machine,
            status,
            key,
            before,
            limit,
        } = query;
        let state = self.state();
        let found = state.executions.values().rev().filter(|execution| {
            is_or_any(machine.as_ref(), &execution.machine)
                && is_or_any(status.as_ref(), &execution.status)
                && (key.is_none() || *key == execution.key)
                && before.is_none_or(|before| execution.id < before)
        });
        listed(found, Most::rows(*limit))
    }

    fn history(&self, id: ExecutionId, after: u64, most: Most) -> Result<Vec<HistoryEntry>, Error> {
        let state = self.state();
        let entries = state.history.range(numbers_of(id)).map(|(_, entry)| entry);
        listed(entries.filter(|entry| entry.sequence > after), most)
    }

    fn timers(&self, id: ExecutionId) -> Result<Vec<Timer>, Error> {
        Ok(self
            .state()
            .timers
            .range(timers_of(id))
            .map(|(_, timer)| timer.clone())
            .collect())
    }

    fn inbox_length(&self, id: ExecutionId) -> Result<u64, Error> {
        Ok(u64::try_from(self.state().inbox.range(numbers_of(id)).count()).unwrap_or(u64::MAX))
    }

    fn action(&self, id: ActionId) -> Result<Option<Action>, Error> {
        Ok(self.state().actions.get(&id).cloned())
    }

    fn actions(&self, query: &ActionQuery) -> Result<Vec<Action>, Error> {
        let ActionQuery {
            execution,
            machine,
            action_id,
            kind,
            status,
            error_kind,
            before,
            limit: _,
            bytes: _,
        } = query;
        let state = self.state();
        let found = state.actions.values().rev().filter(|action| {
            is_or_any(execution.as_ref(), &action.execution)
                && is_or_any(machine.as_ref(), &action.machine)
                && is_or_any(action_id.as_ref(), &action.action_id)
                && is_or_any(kind.as_ref(), &action.kind)
                && is_or_any(status.as_ref(), &action.status)
                && (error_kind.is_none() || *error_kind == action.error_kind)
                && before.is_none_or(|before| action.id < before)
        });
        listed(found, query.most())
    }

    fn fact(&self, kind: FactKind, key: &str) -> Result<Option<Fact>, Error> {
        Ok(self.state().facts.get(&(kind, key.to_owned())).cloned())
    }

    fn find_executions(&self, search: &Search<ExecutionId>) -> Result<Found<Execution, ExecutionId>, Error> {
        let state = self.state();
        Ok(search::newest(state.executions.iter().rev(), search))
    }

    fn find_actions(&self, search: &Search<ActionId>) -> Result<Found<Action, ActionId>, Error> {
        let state = self.state();
        Ok(search::newest(state.actions.iter().rev(), search))
    }

    fn count_actions(&self, condition: &Condition, scan: usize) -> Result<Counted, Error> {
        let state = self.state();
        let meant = state.actions.values().rev().filter(|action| condition.holds(*action));
        let count = meant.take(scan).count();
        Ok(Counted {
            count: u64::try_from(count).unwrap_or(u64::MAX),
            more: count >= scan,
        })
    }

    fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        Ok(self.state().jobs.get(&id).cloned())
    }

    fn jobs(&self, before: Option<JobId>, limit: usize) -> Result<Vec<Job>, Error> {
        let state = self.state();
        let jobs = state.jobs.values().rev();
        let older = jobs.filter(|job| before.is_none_or(|before| job.id < before));
        listed(older, Most::rows(limit))
    }

    fn job_items(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<JobItem>, Error> {
        let state = self.state();
        let items = state.job_items.range((job, 0)..=(job, u64::MAX)).map(|(_, item)| item);
        listed(items.filter(|item| item.number > after), Most::rows(limit))
    }

    fn open_executions(&self) -> Result<Vec<(ExecutionStatus, u64)>, Error> {
        let state = self.state();
        let open = state.executions.values().map(|execution| execution.status);
        Ok(counted(open.filter(|status| status.is_open())))
    }

    fn queued_actions(&self) -> Result<Vec<QueuedLine>, Error> {
        let state = self.state();
        let mut lines: BTreeMap<&str, (u64, Timestamp)> = BTreeMap::new();
        for action in state.open_with(&[QUEUED]) {
            let (count, oldest) = lines.entry(&action.line).or_insert((0, action.run_at));
            *count += 1;
            *oldest = action.run_at.min(*oldest);
        }
        let lines = lines.into_iter().map(|(line, (count, oldest))| QueuedLine {
            line: line.to_owned(),
            count,
            oldest,
        });
        Ok(lines.collect())
    }

    fn dead_letters(&self) -> Result<u64, Error> {
        let state = self.state();
        let dead = state.actions.values().filter(|action| action.status == DEAD);
        Ok(u64::try_from(dead.count()).unwrap_or(u64::MAX))
    }

    fn file_bytes(&self) -> Result<FileBytes, Error> {
        Ok(FileBytes::default())
    }
}

fn is_running(execution: &Execution) -> bool {
    execution.status == crate::records::ExecutionStatus::Running
}

fn is_or_any<T: PartialEq>(wanted: Option<&T>, value: &T) -> bool {
    wanted.is_none_or(|wanted| wanted == value)
}

/// The order in which a line is served.
fn served(key: &ReadyKey) -> impl Ord + use<> {
    (std::cmp::Reverse(key.priority), key.run_at, key.action)
}

fn ready_ref(action: &Action) -> ReadyRef {
    let key = ReadyKey {
        priority: action.priority,
        run_at: action.run_at,
        action: action.id,
    };
    ReadyRef {
        key,
        execution: action.execution,
    }
}

fn due_action(action: &Action) -> DueAction {
    DueAction {
        action: action.id,
        execution: action.execution,
        run_at: action.run_at,
    }
}

/// At most `limit` of the items after `after`, in the order of `key`.
fn page<T, K: Ord>(items: impl Iterator<Item = T>, key: impl Fn(&T) -> K, after: Option<&K>, limit: usize) -> Vec<T> {
    let mut items: Vec<T> = items
        .filter(|item| after.is_none_or(|after| key(item) > *after))
        .collect();
    items.sort_unstable_by_key(|item| key(item));
    items.truncate(limit);
    items
}

/// How often each is among them, in their order.
fn counted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts.into_iter().collect()
}
