//! A store in memory, for the simulator and for tests.
//!
//! It refuses and orders as the backends on disk do. A clone is another handle to the same records: dropping the lane
//! and opening another on a clone is what a crash looks like, because a commit is all or nothing.

mod cluster;
mod load;
mod lookup;
mod order;
mod plans;
mod refusals;
mod search;
mod state;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::action::Status;
use sprag_core::clock::Clock;
use sprag_core::filter::Condition;
use sprag_core::ids::{ActionId, ExecutionId, JobId, WorkflowId};
use sprag_core::integrity::audit::{Entry, Head};
use sprag_core::operation::is_workflow_machine;
use sprag_core::time::Timestamp;

pub use self::cluster::MemoryNodes;
use self::cluster::{Cluster, ShardView};
use self::order::{by_cursor, counted, in_order};
use self::refusals::Refusals;
pub use self::refusals::Rule;
use self::state::{State, numbers_of, timers_of};
use crate::page::{Page, PageLimit, Paged, ReadKind, Weight, paged};
use crate::records::{
    Action, CatalogKind, CatalogVersion, Execution, ExecutionStatus, Fact, FactKind, HistoryEntry, Job, JobItem,
    MachineVersion, Plan, ProcessRun, Scope, Timer, TimerKey,
};
use crate::traits::{
    ActionQuery, Aged, AuditKey, CommitStore, Counted, DueAction, DuePlan, Error, ExecutionQuery, Fence, FileBytes,
    LaneReads, Loaded, Mutation, OpenAction, PlanQuery, QueuedCount, Reader, Readers, ReadyKey, ReadyRef, Search,
    ShardId, WaitingPlan, Wanted, first_after,
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
    fn read_shard<T>(&self, shard: ShardId, read: impl FnOnce(ShardView<'_>) -> T) -> T {
        let state = self.state();
        read(ShardView::of(&state, shard))
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

    fn last_run(&mut self) -> Result<Option<ProcessRun>, Error> {
        Ok(self.state().lives.last_key_value().map(|(_, life)| *life))
    }

    fn ready(
        &mut self,
        shard: ShardId,
        queue: &str,
        page: &Page<ReadyKey>,
    ) -> Result<Paged<ReadyRef, ReadyKey>, Error> {
        self.read_shard(shard, |state| {
            let ready = state.open_with(&[QUEUED]).filter(|action| action.line == queue);
            let after = page.after.as_ref().map(served);
            in_order(
                ready.map(ready_ref),
                |ready| served(&ready.key),
                after.as_ref(),
                page.limit,
                |ready| ready.key,
            )
        })
    }

    fn queues(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        Ok(self.read_shard(shard, |state| {
            let mut lines: Vec<String> = state.open_with(&[QUEUED]).map(|action| action.line.clone()).collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        }))
    }

    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Paged<Timer, (Timestamp, TimerKey)>, Error> {
        self.read_shard(shard, |state| {
            let due = state.timers().filter(|timer| timer.due_at <= until).cloned();
            by_cursor(due, page, |timer| (timer.due_at, timer.key))
        })
    }

    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error> {
        self.read_shard(shard, |state| {
            let waiting = state.open_with(&[SCHEDULED, RETRYING]).map(due_action);
            let due = waiting.filter(|action| action.run_at <= until);
            by_cursor(due, page, |action| (action.run_at, action.action))
        })
    }

    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error> {
        self.read_shard(shard, |state| {
            let due = state.plans().filter_map(|plan| {
                Some(DuePlan {
                    plan: plan.id,
                    decide_by: plan.decide_by?,
                })
            });
            by_cursor(due.filter(|due| due.decide_by <= until), page, |due| {
                (due.decide_by, due.plan)
            })
        })
    }

    fn catalog(&mut self) -> Result<Vec<CatalogVersion>, Error> {
        Ok(plans::catalog(&self.state()).cloned().collect())
    }

    fn running(&mut self, shard: ShardId, page: &Page<ActionId>) -> Result<Paged<DueAction, ActionId>, Error> {
        self.read_shard(shard, |state| {
            let running = state.open_with(&[RUNNING]).map(due_action);
            by_cursor(running, page, |action| action.action)
        })
    }

    fn deferred(&mut self, shard: ShardId, page: &Page<ExecutionId>) -> Result<Paged<ExecutionId, ExecutionId>, Error> {
        self.read_shard(shard, |state| {
            let inbox = state.all.inbox.keys().map(|(execution, _)| *execution);
            let mut waiting: Vec<ExecutionId> = inbox.filter(|id| state.has(id.slot())).collect();
            waiting.dedup();
            waiting.retain(|id| state.all.executions.get(id).is_some_and(is_running));
            by_cursor(waiting.into_iter(), page, |id| *id)
        })
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        let state = self.state();
        Ok(state.facts.values().filter(|fact| fact.kind == kind).cloned().collect())
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        page: &Page<OpenAction>,
    ) -> Result<Paged<OpenAction, OpenAction>, Error> {
        let open = |action: &Action| OpenAction {
            execution: action.execution,
            action: action.id,
        };
        self.read_shard(shard, |state| {
            by_cursor(state.open_with(&[status]).map(open), page, |open| *open)
        })
    }

    fn aged(
        &mut self,
        shard: ShardId,
        before: Timestamp,
        page: &Page<ExecutionId>,
    ) -> Result<Paged<Aged, ExecutionId>, Error> {
        self.read_shard(shard, |state| {
            let old = state.all.executions.values().filter(|execution| {
                state.has(execution.id.slot())
                    && execution.id < first_after(before)
                    && page.after.is_none_or(|after| execution.id > after)
            });
            let rows = old.map(|execution| Ok(aged(state.all, execution, before)));
            paged(rows, page.limit, |aged| aged.execution)
        })
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        Reader::find_actions(self, search)
    }

    fn find_plans(&mut self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        Reader::plans(self, query)
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        Ok(self.read_shard(shard, |state| {
            let open = state.jobs().filter(|job| job.status.is_open());
            open.cloned().collect()
        }))
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        Ok(self.read_shard(shard, |state| {
            let mut over = state.jobs().rev().filter(|job| !job.status.is_open());
            over.nth(kept).cloned()
        }))
    }

    fn audit_heads(&mut self) -> Result<Vec<Head>, Error> {
        Ok(self.state().audit_heads())
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        Ok(self.read_shard(shard, |state| {
            let all = state.all.idempotency.values();
            let kept = all.filter(|record| state.has(record.scope.slot()));
            let mut expiries: Vec<_> = kept.map(|record| (record.expires_at, record.scope)).collect();
            expiries.sort_unstable();
            expiries.truncate(limit);
            expiries
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
fn listed<'r, T: Weight + Clone + 'r, C>(
    rows: impl Iterator<Item = &'r T>,
    limit: PageLimit,
    cursor: impl Fn(&T) -> C,
) -> Result<Paged<T, C>, Error> {
    paged(rows.map(|row| Ok(row.clone())), limit, cursor)
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
    fn machines(&self, Page { after, limit }: &Page<String>) -> Result<Paged<MachineVersion, String>, Error> {
        let state = self.state();
        let names = state.machines.keys().map(|(machine, _)| machine);
        let names = names.filter(|name| !is_workflow_machine(name));
        let mut names: Vec<&String> = names
            .filter(|name| after.as_ref().is_none_or(|after| *name > after))
            .collect();
        names.dedup();
        let newest = names.into_iter().filter_map(|machine| load::newest(&state, machine));
        listed(newest, *limit, |version| version.machine.clone())
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

    fn executions(&self, query: &ExecutionQuery) -> Result<Paged<Execution, ExecutionId>, Error> {
        let ExecutionQuery {
            machine,
            status,
            key,
            page,
        } = query;
        let state = self.state();
        let found = state.executions.values().rev().filter(|execution| {
            is_or_any(machine.as_ref(), &execution.machine)
                && is_or_any(status.as_ref(), &execution.status)
                && (key.is_none() || *key == execution.key)
                && page.after.is_none_or(|after| execution.id < after)
        });
        listed(found, page.limit, |execution| execution.id)
    }

    fn history(&self, id: ExecutionId, Page { after, limit }: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error> {
        let state = self.state();
        let entries = state.history.range(numbers_of(id)).map(|(_, entry)| entry);
        let later = entries.filter(|entry| entry.sequence > after.unwrap_or(0));
        listed(later, *limit, |entry| entry.sequence)
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

    fn actions(&self, query: &ActionQuery) -> Result<Paged<Action, ActionId>, Error> {
        let ActionQuery {
            execution,
            machine,
            action_id,
            kind,
            status,
            error_kind,
            page,
        } = query;
        let state = self.state();
        let found = state.actions.values().rev().filter(|action| {
            is_or_any(execution.as_ref(), &action.execution)
                && is_or_any(machine.as_ref(), &action.machine)
                && is_or_any(action_id.as_ref(), &action.action_id)
                && is_or_any(kind.as_ref(), &action.kind)
                && is_or_any(status.as_ref(), &action.status)
                && (error_kind.is_none() || *error_kind == action.error_kind)
                && page.after.is_none_or(|after| action.id < after)
        });
        listed(found, page.limit, |action| action.id)
    }

    fn fact(&self, kind: FactKind, key: &str) -> Result<Option<Fact>, Error> {
        Ok(self.state().facts.get(&(kind, key.to_owned())).cloned())
    }

    fn find_executions(&self, search: &Search<ExecutionId>) -> Result<Paged<Execution, ExecutionId>, Error> {
        let state = self.state();
        Ok(search::newest(state.executions.iter().rev(), search))
    }

    fn find_actions(&self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
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

    fn jobs(&self, Page { after, limit }: &Page<JobId>) -> Result<Paged<Job, JobId>, Error> {
        let state = self.state();
        let jobs = state.jobs.values().rev();
        let older = jobs.filter(|job| after.is_none_or(|after| job.id < after));
        listed(older, *limit, |job| job.id)
    }

    fn job_items(&self, job: JobId, Page { after, limit }: &Page<u64>) -> Result<Paged<JobItem, u64>, Error> {
        let state = self.state();
        let items = state.job_items.range((job, 0)..=(job, u64::MAX)).map(|(_, item)| item);
        let later = items.filter(|item| item.number > after.unwrap_or(0));
        listed(later, *limit, |item| item.number)
    }

    fn audit(&self, shard: Option<ShardId>, page: &Page<AuditKey>) -> Result<Paged<Entry, AuditKey>, Error> {
        let state = self.state();
        let after = page.after.unwrap_or(AuditKey::END);
        let mut found: Vec<&Entry> = match shard {
            Some(ShardId(shard)) => state
                .audit
                .range((shard, 0)..(shard, after.sequence))
                .map(|(_, entry)| entry)
                .collect(),
            None => state
                .audit
                .values()
                .filter(|entry| AuditKey::of(entry) < after)
                .collect(),
        };
        found.sort_by_key(|entry| Reverse(AuditKey::of(entry)));
        listed(found.into_iter(), page.limit, AuditKey::of)
    }

    fn audit_heads(&self) -> Result<Vec<Head>, Error> {
        Ok(self.state().audit_heads())
    }

    fn catalog(&self, kind: CatalogKind, page: &Page<String>) -> Result<Paged<CatalogVersion, String>, Error> {
        plans::catalog_page(&self.state(), kind, page)
    }

    fn catalog_version(
        &self,
        kind: CatalogKind,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogVersion>, Error> {
        Ok(plans::catalog_version(&self.state(), kind, name, version))
    }

    fn plan(&self, id: WorkflowId) -> Result<Option<Plan>, Error> {
        Ok(self.state().plans.get(&id).cloned())
    }

    fn plans(&self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        plans::list(&self.state(), query)
    }

    fn waiting_plans(&self, page: &Page<WaitingPlan>) -> Result<Paged<Plan, WaitingPlan>, Error> {
        plans::waiting(&self.state(), page)
    }

    fn open_executions(&self) -> Result<Vec<(ExecutionStatus, u64)>, Error> {
        let state = self.state();
        let open = state.executions.values().map(|execution| execution.status);
        Ok(counted(open.filter(|status| status.is_open())))
    }

    fn queued_actions(&self) -> Result<Vec<QueuedCount>, Error> {
        let state = self.state();
        let mut lines: BTreeMap<&str, (u64, Timestamp)> = BTreeMap::new();
        for action in state.open_with(&[QUEUED]) {
            let (count, oldest) = lines.entry(&action.line).or_insert((0, action.run_at));
            *count += 1;
            *oldest = action.run_at.min(*oldest);
        }
        let lines = lines.into_iter().map(|(line, (count, oldest))| QueuedCount {
            queue: line.to_owned(),
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

/// The order in which a queue is served.
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
