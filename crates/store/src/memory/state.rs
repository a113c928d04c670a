//! What the memory backend remembers, and how one record changes.
//!
//! Every write is a [`Change`]: the new record of a key, or none. Putting one in place returns the
//! change that takes it back, so a commit that fails half way is undone exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId, JobId, WorkflowId};
use sprag_core::integrity::audit::{Entry, Head};
use sprag_core::time::Timestamp;

use super::cluster::Cluster;
use crate::records::{
    Action, CatalogKind, CatalogVersion, Execution, Fact, FactKind, HistoryEntry, Idempotency, InboxEntry, Job,
    JobItem, MachineVersion, Plan, ProcessRun, Receipt, Scope, Timer, TimerKey, workflow_machine,
};
use crate::traits::{Error, Mutation, Variables};

/// The greatest number of an open action's status.
const ACTION_OPEN_MAX: u8 = Status::Retrying as u8;

/// All records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) cluster: Cluster,
    pub(super) machines: BTreeMap<(String, u32), MachineVersion>,
    pub(super) executions: BTreeMap<ExecutionId, Execution>,
    /// Follows from `executions`: who holds which key.
    pub(super) holders: BTreeMap<(String, String), ExecutionId>,
    pub(super) history: BTreeMap<(ExecutionId, u64), HistoryEntry>,
    pub(super) actions: BTreeMap<ActionId, Action>,
    /// Follows from `actions`: the open ones.
    pub(super) open: BTreeSet<(ExecutionId, ActionId)>,
    pub(super) timers: BTreeMap<TimerKey, Timer>,
    pub(super) inbox: BTreeMap<(ExecutionId, u64), InboxEntry>,
    pub(super) receipts: BTreeMap<(ExecutionId, String), Receipt>,
    pub(super) idempotency: BTreeMap<Scope, Idempotency>,
    pub(super) lives: BTreeMap<Timestamp, ProcessRun>,
    pub(super) facts: BTreeMap<(FactKind, String), Fact>,
    pub(super) jobs: BTreeMap<JobId, Job>,
    pub(super) job_items: BTreeMap<(JobId, u64), JobItem>,
    pub(super) audit: BTreeMap<(u32, u64), Entry>,
    pub(super) catalog: BTreeMap<(CatalogKind, String, u32), CatalogVersion>,
    pub(super) plans: BTreeMap<WorkflowId, Plan>,
}

/// The new record of a key; none to have none.
pub(super) enum Change {
    Machine((String, u32), Option<MachineVersion>),
    Execution(ExecutionId, Option<Execution>),
    History((ExecutionId, u64), Option<HistoryEntry>),
    Action(ActionId, Option<Action>),
    Timer(TimerKey, Option<Timer>),
    Inbox((ExecutionId, u64), Option<InboxEntry>),
    Receipt((ExecutionId, String), Option<Receipt>),
    Idempotency(Scope, Option<Idempotency>),
    Life(Timestamp, Option<ProcessRun>),
    Fact((FactKind, String), Option<Fact>),
    /// Several, in this order.
    All(Vec<Change>),
    Job(JobId, Option<Job>),
    JobItem((JobId, u64), Option<JobItem>),
    Audit((u32, u64), Option<Entry>),
    Catalog((CatalogKind, String, u32), Option<CatalogVersion>),
    Plan(WorkflowId, Option<Plan>),
    /// Several at once; the last is put in place first when they are taken back.
    Several(Vec<Self>),
}

/// All keys that begin with an execution, second part a number.
pub(super) fn numbers_of(execution: ExecutionId) -> RangeInclusive<(ExecutionId, u64)> {
    (execution, 0)..=(execution, u64::MAX)
}

/// All timers of an execution.
pub(super) fn timers_of(execution: ExecutionId) -> RangeInclusive<TimerKey> {
    TimerKey {
        execution,
        visit: 0,
        index: 0,
    }..=TimerKey {
        execution,
        visit: u64::MAX,
        index: u16::MAX,
    }
}

impl State {
    /// The change that a mutation asks for, if the records allow it.
    pub(super) fn change(&self, mutation: &Mutation) -> Result<Change, Error> {
        match mutation {
            Mutation::InsertMachineVersion(record) => {
                let key = (record.machine.clone(), record.version);
                absent(&self.machines, &key)?;
                Ok(Change::Machine(key, Some(record.clone())))
            }
            Mutation::ExpectNewest { machine, version } => self.expect_newest(machine, *version),
            Mutation::InsertExecution(record) => self.insert_execution(record),
            Mutation::UpdateExecution { execution, variables } => self.update_execution(execution, *variables),
            Mutation::AppendHistory(record) => self.append_history(record),
            Mutation::InsertAction(record) => {
                absent(&self.actions, &record.id)?;
                Ok(Change::Action(record.id, Some(record.clone())))
            }
            Mutation::UpdateAction(record) => self.update_action(record),
            Mutation::PutTimer(record) => Ok(Change::Timer(record.key, Some(record.clone()))),
            Mutation::DeleteTimer(key) => Ok(Change::Timer(*key, None)),
            Mutation::InsertInbox(record) => {
                let key = (record.execution, record.position);
                absent(&self.inbox, &key)?;
                Ok(Change::Inbox(key, Some(record.clone())))
            }
            Mutation::DeleteInbox { execution, position } => Ok(Change::Inbox((*execution, *position), None)),
            Mutation::InsertReceipt(record) => {
                let key = (record.execution, record.message.clone());
                absent(&self.receipts, &key)?;
                Ok(Change::Receipt(key, Some(record.clone())))
            }
            Mutation::DeleteReceipt { execution, message } => Ok(Change::Receipt((*execution, message.clone()), None)),
            Mutation::InsertIdempotency(record) if self.idempotency.contains_key(&record.scope) => Err(Error::Answered),
            Mutation::PutIdempotency(record) | Mutation::InsertIdempotency(record) => {
                Ok(Change::Idempotency(record.scope, Some(record.clone())))
            }
            Mutation::DeleteIdempotency(scope) => Ok(Change::Idempotency(*scope, None)),
            Mutation::PutRun(record) => Ok(Change::Life(record.started_at, Some(*record))),
            Mutation::PutFact(record) => Ok(Change::Fact((record.kind, record.key.clone()), Some(record.clone()))),
            Mutation::DeleteFact { kind, key } => Ok(Change::Fact((*kind, key.clone()), None)),
            Mutation::DeleteExecution(id) => self.delete_execution(*id),
            Mutation::PutJob(record) => Ok(Change::Job(record.id, Some(record.clone()))),
            Mutation::InsertJobItem(record) => {
                let key = (record.job, record.number);
                absent(&self.job_items, &key)?;
                Ok(Change::JobItem(key, Some(record.clone())))
            }
            Mutation::DeleteJobItems { job, up_to } => {
                let keys = self.job_items.range((*job, 0)..=(*job, *up_to)).map(|(key, _)| *key);
                Ok(Change::Several(keys.map(|key| Change::JobItem(key, None)).collect()))
            }
            Mutation::DeleteJob(id) => Ok(Change::Job(*id, None)),
            Mutation::InsertAudit(record) => {
                let key = (record.shard, record.sequence);
                absent(&self.audit, &key)?;
                Ok(Change::Audit(key, Some(record.clone())))
            }
            Mutation::InsertCatalogVersion(record) => {
                let key = (record.kind, record.name.clone(), record.version);
                absent(&self.catalog, &key)?;
                Ok(Change::Catalog(key, Some(record.clone())))
            }
            Mutation::PutPlan(record) => Ok(Change::Plan(record.id, Some(self.decided(record)))),
        }
    }

    /// A plan as it is stored: what was proposed stays as it is.
    fn decided(&self, record: &Plan) -> Plan {
        let Some(stored) = self.plans.get(&record.id) else {
            return record.clone();
        };
        Plan {
            status: record.status,
            updated_at: record.updated_at,
            decide_by: record.decide_by,
            body: record.body.clone(),
            ..stored.clone()
        }
    }

    /// The newest entry of every chain, by shard.
    pub(super) fn audit_heads(&self) -> Vec<Head> {
        let mut heads: BTreeMap<u32, Head> = BTreeMap::new();
        heads.extend(self.audit.values().map(|entry| (entry.shard, entry.head())));
        heads.into_values().collect()
    }

    fn expect_newest(&self, machine: &str, version: u32) -> Result<Change, Error> {
        let newer = (machine.to_owned(), version.saturating_add(1))..=(machine.to_owned(), u32::MAX);
        if version < u32::MAX && self.machines.range(newer).next().is_some() {
            return Err(Error::Outdated {
                machine: machine.to_owned(),
            });
        }
        Ok(Change::Several(Vec::new()))
    }

    fn insert_execution(&self, record: &Execution) -> Result<Change, Error> {
        absent(&self.executions, &record.id)?;
        self.key_is_free(record)?;
        Ok(Change::Execution(record.id, Some(record.clone())))
    }

    fn update_execution(&self, record: &Execution, variables: Variables) -> Result<Change, Error> {
        let old = self.executions.get(&record.id).filter(|old| {
            (&old.machine, &old.key, &old.tags, old.created_at)
                == (&record.machine, &record.key, &record.tags, record.created_at)
        });
        let Some(old) = old else {
            return Err(refused("an execution that must be there is not"));
        };
        self.key_is_free(record)?;
        let mut new = record.clone();
        if variables == Variables::Unchanged {
            new.variables.clone_from(&old.variables);
        }
        Ok(Change::Execution(record.id, Some(new)))
    }

    fn key_is_free(&self, record: &Execution) -> Result<(), Error> {
        let holder = held_key(record).and_then(|key| self.holders.get(&key));
        match holder {
            Some(holder) if *holder != record.id => Err(refused("another open execution holds the key")),
            _ => Ok(()),
        }
    }

    fn append_history(&self, record: &HistoryEntry) -> Result<Change, Error> {
        let HistoryEntry {
            execution, sequence, ..
        } = *record;
        let newest = self
            .history
            .range(numbers_of(execution))
            .next_back()
            .map_or(0, |((_, newest), _)| *newest);
        if newest.checked_add(1) != Some(sequence) {
            return Err(refused("a history would have a gap or an entry twice"));
        }
        Ok(Change::History((execution, sequence), Some(record.clone())))
    }

    fn update_action(&self, record: &Action) -> Result<Change, Error> {
        let old = self.actions.get(&record.id).filter(|old| {
            (old.execution, &old.machine, &old.action_id, &old.tags, old.created_at)
                == (
                    record.execution,
                    &record.machine,
                    &record.action_id,
                    &record.tags,
                    record.created_at,
                )
        });
        match old {
            Some(_) => Ok(Change::Action(record.id, Some(record.clone()))),
            None => Err(refused("an action that must be there is not")),
        }
    }

    fn delete_execution(&self, id: ExecutionId) -> Result<Change, Error> {
        let stored = self.executions.get(&id);
        if stored.is_none_or(|stored| stored.status.is_open()) {
            return Err(refused("an execution that must be there and closed is not"));
        }
        let history = self.history.range(numbers_of(id)).map(|(key, _)| *key);
        let actions = self.actions.values().filter(|action| action.execution == id);
        let timers = self.timers.range(timers_of(id)).map(|(key, _)| *key);
        let inbox = self.inbox.range(numbers_of(id)).map(|(key, _)| *key);
        let receipts = self.receipts.keys().filter(|(execution, _)| *execution == id);
        let plans = self.plans.keys().filter(|plan| {
            let action = self.actions.get(&plan.action());
            plan.execution() == id || action.is_some_and(|action| action.execution == id)
        });
        let machine = workflow_machine(id);
        let machines = self.machines.keys().filter(|(name, _)| *name == machine);
        let mut changes = vec![Change::Execution(id, None)];
        changes.extend(plans.map(|plan| Change::Plan(*plan, None)));
        changes.extend(machines.map(|key| Change::Machine(key.clone(), None)));
        changes.extend(history.map(|key| Change::History(key, None)));
        changes.extend(actions.map(|action| Change::Action(action.id, None)));
        changes.extend(timers.map(|key| Change::Timer(key, None)));
        changes.extend(inbox.map(|key| Change::Inbox(key, None)));
        changes.extend(receipts.map(|key| Change::Receipt(key.clone(), None)));
        Ok(Change::All(changes))
    }

    /// Puts a change in place and returns the one that takes it back.
    pub(super) fn put(&mut self, change: Change) -> Change {
        match change {
            Change::Machine(key, new) => Change::Machine(key.clone(), swap(&mut self.machines, key, new)),
            Change::Execution(id, new) => self.put_execution(id, new),
            Change::History(key, new) => Change::History(key, swap(&mut self.history, key, new)),
            Change::Action(id, new) => self.put_action(id, new),
            Change::Timer(key, new) => Change::Timer(key, swap(&mut self.timers, key, new)),
            Change::Inbox(key, new) => Change::Inbox(key, swap(&mut self.inbox, key, new)),
            Change::Receipt(key, new) => Change::Receipt(key.clone(), swap(&mut self.receipts, key, new)),
            Change::Idempotency(scope, new) => Change::Idempotency(scope, swap(&mut self.idempotency, scope, new)),
            Change::Life(key, new) => Change::Life(key, swap(&mut self.lives, key, new)),
            Change::Fact(key, new) => Change::Fact(key.clone(), swap(&mut self.facts, key, new)),
            Change::All(changes) => {
                let mut undo: Vec<Change> = changes.into_iter().map(|change| self.put(change)).collect();
                undo.reverse();
                Change::All(undo)
            }
            Change::Job(id, new) => Change::Job(id, swap(&mut self.jobs, id, new)),
            Change::JobItem(key, new) => Change::JobItem(key, swap(&mut self.job_items, key, new)),
            Change::Audit(key, new) => Change::Audit(key, swap(&mut self.audit, key, new)),
            Change::Catalog(key, new) => Change::Catalog(key.clone(), swap(&mut self.catalog, key, new)),
            Change::Plan(id, new) => Change::Plan(id, swap(&mut self.plans, id, new)),
            Change::Several(changes) => {
                let mut undo: Vec<Change> = changes.into_iter().map(|change| self.put(change)).collect();
                undo.reverse();
                Change::Several(undo)
            }
        }
    }

    fn put_execution(&mut self, id: ExecutionId, new: Option<Execution>) -> Change {
        let held = new.as_ref().and_then(held_key);
        let old = swap(&mut self.executions, id, new);
        if let Some(key) = old.as_ref().and_then(held_key) {
            self.holders.remove(&key);
        }
        self.holders.extend(held.map(|key| (key, id)));
        Change::Execution(id, old)
    }

    fn put_action(&mut self, id: ActionId, new: Option<Action>) -> Change {
        let open = new.as_ref().and_then(open_place);
        let old = swap(&mut self.actions, id, new);
        if let Some(place) = old.as_ref().and_then(open_place) {
            self.open.remove(&place);
        }
        self.open.extend(open);
        Change::Action(id, old)
    }

    /// The open actions of an execution, by id.
    pub(super) fn open_of(&self, execution: ExecutionId) -> impl Iterator<Item = &Action> {
        let least = ActionId::from_bytes([0; 16]);
        let greatest = ActionId::from_bytes([u8::MAX; 16]);
        self.open
            .range((execution, least)..=(execution, greatest))
            .filter_map(|(_, id)| self.actions.get(id))
    }

    /// All open actions whose status is one of these.
    pub(super) fn open_with(&self, statuses: &[u8]) -> impl Iterator<Item = &Action> {
        self.open
            .iter()
            .filter_map(|(_, id)| self.actions.get(id))
            .filter(|action| statuses.contains(&action.status))
    }
}

/// The key that an execution holds: its own, while it is open.
fn held_key(execution: &Execution) -> Option<(String, String)> {
    let key = execution.key.as_ref().filter(|_| execution.status.is_open())?;
    Some((execution.machine.clone(), key.clone()))
}

fn open_place(action: &Action) -> Option<(ExecutionId, ActionId)> {
    (action.status <= ACTION_OPEN_MAX).then_some((action.execution, action.id))
}

fn swap<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, new: Option<V>) -> Option<V> {
    match new {
        Some(new) => map.insert(key, new),
        None => map.remove(&key),
    }
}

fn absent<K: Ord, V>(map: &BTreeMap<K, V>, key: &K) -> Result<(), Error> {
    if map.contains_key(key) {
        Err(refused("a record that must be new is already there"))
    } else {
        Ok(())
    }
}

fn refused(detail: &str) -> Error {
    Error::Refused {
        detail: detail.to_owned(),
    }
}
