//! What one batch of commands will write, and what follows once it is durable.
//!
//! Writes to one execution or action within a batch coalesce: the last state wins, and is serialised once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, ExecutionId, JobId, Slot, WorkflowId};
use sprag_core::time::Timestamp;
use sprag_core::words;
use sprag_store::records::{ExecutionStatus, Fact, FactKind, Scope, Timer, TimerKey};
use sprag_store::traits::Variables;
use sprag_store::{Fence, Mutation};

use super::plans::PlanState;
use super::state::ExecutionState;
use super::waiting::ApprovalNews;
use super::{AttemptJob, Due, LogEntry, Note, Traced, convert};
use crate::jobs;
use crate::limits::LimitDemand;
use crate::requests::audit::Audited;
use crate::requests::{AttemptRef, Command, Sent};

/// Something that changed: a hint to look, not what there is to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An execution.
    Execution {
        /// Which.
        id: ExecutionId,
        /// The sequence of its newest history entry.
        sequence: u64,
        /// Where it stands.
        status: ExecutionStatus,
    },
    /// An action.
    Action {
        /// Which.
        id: ActionId,
        /// Whose.
        execution: ExecutionId,
        /// Whether it is a dead letter, or was one.
        is_letter: bool,
    },
    /// A record of another kind.
    Record {
        /// What it is.
        kind: RecordKind,
        /// Its id, name or key.
        id: Arc<str>,
    },
    /// A machine has a new version.
    Machine {
        /// Its name.
        id: Arc<str>,
    },
}

words! {
    /// What a record is that belongs to no execution.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RecordKind as word {
        /// A plan.
        Workflow => "workflow",
        /// A bulk job.
        Job => "job",
        /// A kill switch.
        Switch => "switch",
        /// An operator's override of a limit.
        Limit => "limit",
        /// A token.
        Token => "token",
        /// An operation of the catalog.
        Operation => "operation",
        /// A worker.
        Worker => "worker",
    }
}

impl Change {
    /// The execution that changed, if one did.
    pub(crate) fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::Execution { id, .. } => Some(*id),
            Self::Action { .. } | Self::Machine { .. } | Self::Record { .. } => None,
        }
    }

    /// The execution that is closed now, if one is.
    pub(crate) fn closed(&self) -> Option<ExecutionId> {
        match self {
            Self::Execution { id, status, .. } if !status.is_open() => Some(*id),
            Self::Execution { .. } | Self::Action { .. } | Self::Machine { .. } | Self::Record { .. } => None,
        }
    }
}

fn record(kind: RecordKind, id: &impl ToString) -> Change {
    Change::Record {
        kind,
        id: Arc::from(id.to_string()),
    }
}

/// The record of the control shard or the catalog that a mutation is about.
fn changed_record(mutation: &Mutation) -> Option<Change> {
    let (kind, key) = match mutation {
        Mutation::PutFact(Fact { kind, key, .. }) | Mutation::DeleteFact { kind, key } => (kind, key),
        Mutation::InsertCatalogVersion(version) => return Some(record(RecordKind::Operation, &version.name)),
        _ => return None,
    };
    let kind = match kind {
        FactKind::Switch => RecordKind::Switch,
        FactKind::Limit => RecordKind::Limit,
        FactKind::Token => RecordKind::Token,
        FactKind::Mark | FactKind::Restored => return None,
    };
    Some(record(kind, key))
}

/// Whether an action is a dead letter, or was one: a person archived or retried it.
fn is_letter(action: &Action) -> bool {
    matches!(action.status, Status::Dead | Status::Archived) || action.body.spent > 0 || action.body.generation > 0
}

/// An action whose turn came, and whose it is.
pub(crate) type Turn = (ExecutionId, ActionId);

/// How a record is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// It is new in this batch.
    Insert,
    /// It was stored before.
    Update(Variables),
}

impl Write {
    /// A record that was stored before, whose variables did not change.
    pub(crate) const UPDATE: Self = Self::Update(Variables::Unchanged);

    /// Of two writes to one record, the weightier one does for both.
    fn weight(self) -> u8 {
        match self {
            Self::Update(Variables::Unchanged) => 0,
            Self::Update(Variables::Changed) => 1,
            Self::Insert => 2,
        }
    }
}

/// The writes and consequences of one batch.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Where executions begin that may begin anywhere: all of a batch at one place, because each shard that it writes to costs a
    /// commit a fence.
    pub(crate) slot: Option<Slot>,
    /// Writes that never coalesce, in order.
    pub(crate) log: Vec<Mutation>,
    executions: BTreeMap<ExecutionId, Write>,
    actions: BTreeMap<ActionId, (Write, Arc<Action>)>,
    timers: BTreeMap<TimerKey, Option<Timer>>,
    /// Queued actions that stand in no line, because a switch holds them.
    aside: BTreeSet<ActionId>,
    /// Plans as this batch left them.
    pub(crate) plans: BTreeMap<WorkflowId, PlanState>,
    /// Bulk jobs as this batch left them.
    pub(crate) bulk: BTreeMap<JobId, jobs::Job>,
    /// To start once durable.
    pub(crate) jobs: Vec<AttemptJob>,
    /// The actions that were begun for no command's sake, because their turn came.
    pub(crate) begun: Vec<Turn>,
    /// What must hold beside the fences of what is written: limit owners.
    pub(crate) fences: Vec<Fence>,
    /// To say to limit owners once durable.
    pub(crate) demands: Vec<LimitDemand>,
    /// To ask to stop once durable.
    pub(crate) cancels: Vec<AttemptRef>,
    /// To stop outright once durable.
    pub(crate) abandons: Vec<AttemptRef>,
    /// Due times to remember once durable.
    pub(crate) due: Vec<(Timestamp, Due)>,
    /// Requests of the engine's own for the next batch.
    pub(crate) next: Vec<Command>,
    /// Who holds which key, as of this batch.
    pub(crate) keys: BTreeMap<(String, String), Option<ExecutionId>>,
    /// Answers to messages, as of this batch.
    pub(crate) receipts: BTreeMap<(ExecutionId, String), Sent>,
    /// The first request under each idempotency key, with the digest of what it asks; then its answer, as stored.
    pub(crate) answered: BTreeMap<Scope, ([u8; 32], Option<Vec<u8>>)>,
    /// When the first answer that this batch stores expires.
    pub(crate) answers_expire: Option<Timestamp>,
    /// An operator accepted the clock: ids follow it again.
    pub(crate) is_clock_accepted: bool,
    /// The newest version of machines, as of this batch.
    pub(crate) newest: BTreeMap<String, u32>,
    /// The newest versions, by memory, that this batch was decided on, where others may have stored a newer one.
    pub(crate) expected: BTreeMap<String, u32>,
    /// What is to be counted once it is durable.
    pub(crate) notes: Vec<Note>,
    /// What the exporter of traces gets, once it is durable.
    pub(crate) traced: Vec<Traced>,
    /// What is to be logged, once it is durable.
    pub(crate) logged: Vec<LogEntry>,
    /// Decisions of principals, for the audit.
    pub(crate) audited: Vec<Audited>,
    /// Attempts of an earlier process that were interrupted by its end.
    pub(crate) interrupted: usize,
    /// Actions that ended in this batch, in order.
    pub(crate) ended: Vec<(ActionId, Status)>,
    /// What there is to tell of plans that wait for a person.
    pub(crate) news: Vec<(WorkflowId, ApprovalNews)>,
    /// How many of them were looked at for alerts.
    pub(crate) alerted: usize,
    /// How many of them were looked at for the audit.
    pub(crate) audited_ends: usize,
}

impl Batch {
    /// An empty one, with room for so many rows and attempts.
    pub(crate) fn with_capacity(rows: usize, jobs: usize) -> Self {
        Self {
            log: Vec::with_capacity(rows),
            jobs: Vec::with_capacity(jobs),
            ..Self::default()
        }
    }

    /// The execution changed.
    pub(crate) fn touch(&mut self, id: ExecutionId, write: Write) {
        let known = self.executions.entry(id).or_insert(write);
        if known.weight() < write.weight() {
            *known = write;
        }
    }

    /// The action changed; `action` is how it stands now.
    pub(crate) fn put_action(&mut self, write: Write, action: impl Into<Arc<Action>>) {
        let action = action.into();
        let before = self.actions.get(&action.id);
        if !action.status.is_open() && before.is_none_or(|(_, before)| before.status.is_open()) {
            self.ended.push((action.id, action.status));
        }
        let write = before.map_or(write, |(known, _)| *known);
        self.actions.insert(action.id, (write, action));
    }

    /// A queued action stands in no line from now on.
    pub(crate) fn set_aside(&mut self, action: Arc<Action>) {
        self.aside.insert(action.id);
        self.put_action(Write::UPDATE, action);
    }

    /// Whether this batch writes anything about an execution.
    pub(crate) fn concerns(&self, id: ExecutionId) -> bool {
        let mut actions = self.actions.values();
        self.executions.contains_key(&id) || actions.any(|(_, action)| action.origin.execution == id)
    }

    /// An action as this batch left it.
    pub(crate) fn action(&self, id: ActionId) -> Option<&Action> {
        self.actions.get(&id).map(|(_, action)| action.as_ref())
    }

    /// The timer begins or moves.
    pub(crate) fn put_timer(&mut self, timer: Timer) {
        self.due.push((timer.due_at, Due::Timer(timer.key)));
        self.timers.insert(timer.key, Some(timer));
    }

    /// The timer is over.
    pub(crate) fn delete_timer(&mut self, key: TimerKey) {
        self.timers.insert(key, None);
    }

    /// Everything as mutations: executions and actions as they stand at the end of the batch.
    pub(crate) fn mutations<'a>(
        &mut self,
        aggregate: impl Fn(ExecutionId) -> Option<&'a ExecutionState>,
    ) -> Vec<Mutation> {
        let mut mutations = Vec::with_capacity(self.log.len() + self.executions.len() + self.actions.len());
        let expected = std::mem::take(&mut self.expected).into_iter();
        mutations.extend(expected.map(|(machine, version)| Mutation::ExpectNewest { machine, version }));
        let mut rest = std::mem::take(&mut self.log);
        mutations.extend(rest.extract_if(.., |mutation| matches!(mutation, Mutation::InsertMachineVersion(_))));
        // The execution that gives up a key is written before the one that takes it.
        for is_open in [false, true] {
            let touched = self
                .executions
                .iter()
                .filter_map(|(&id, &write)| Some((aggregate(id)?, write)));
            for (found, write) in touched.filter(|(found, _)| found.head.status.is_open() == is_open) {
                let execution = convert::execution_row(found);
                mutations.push(match write {
                    Write::Insert => Mutation::InsertExecution(execution),
                    Write::Update(variables) => Mutation::UpdateExecution { execution, variables },
                });
            }
        }
        mutations.extend(rest);
        for (write, action) in self.actions.values() {
            let status = aggregate(action.origin.execution).map_or(ExecutionStatus::Running, |found| found.head.status);
            let mut row = convert::action_row(action, status);
            if self.aside.contains(&action.id) {
                row.line.clear();
            }
            mutations.push(match write {
                Write::Insert => Mutation::InsertAction(row),
                Write::Update(_) => Mutation::UpdateAction(row),
            });
        }
        mutations.extend(self.plans.values().map(|plan| Mutation::PutPlan(plan.row())));
        mutations.extend(self.bulk.values().map(|job| Mutation::PutJob(job.row())));
        for (&key, timer) in &self.timers {
            mutations.push(match timer {
                Some(timer) => Mutation::PutTimer(timer.clone()),
                None => Mutation::DeleteTimer(key),
            });
        }
        mutations
    }

    /// What listeners hear: of executions last, so that a listener that hears that one is closed has heard of all its actions.
    pub(crate) fn changes<'a>(
        &self,
        mutations: &[Mutation],
        aggregate: impl Fn(ExecutionId) -> Option<&'a ExecutionState>,
    ) -> Vec<Change> {
        let machine = |name: &String| Change::Machine {
            id: Arc::from(name.as_str()),
        };
        let execution = |&id: &ExecutionId| {
            let head = &aggregate(id)?.head;
            Some(Change::Execution {
                id,
                sequence: head.sequence,
                status: head.status,
            })
        };
        let action = |(_, action): &(Write, Arc<Action>)| Change::Action {
            id: action.id,
            execution: action.origin.execution,
            is_letter: is_letter(action),
        };
        let workflows = self.plans.keys().map(|id| record(RecordKind::Workflow, id));
        let jobs = self.bulk.keys().map(|id| record(RecordKind::Job, id));
        let records = mutations.iter().filter_map(changed_record).chain(workflows).chain(jobs);
        let machines = self.newest.keys().map(machine);
        let executions = self.executions.keys().filter_map(execution);
        let actions = self.actions.values().map(action);
        machines.chain(records).chain(actions).chain(executions).collect()
    }

    /// How many executions began in this batch.
    pub(crate) fn started(&self) -> u64 {
        let began = self.executions.values().filter(|write| **write == Write::Insert);
        u64::try_from(began.count()).unwrap_or(u64::MAX)
    }

    /// The type of every action that ended in this batch, with how.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (&str, Status)> {
        let ended = self.ended.iter();
        ended.filter_map(|(id, status)| Some((self.actions.get(id)?.1.kind.as_str(), *status)))
    }
}
