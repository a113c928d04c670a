//! One applied commit, from its mutations to the checks over all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::{Cause, Machine, Trigger};
use sprag_core::time::Timestamp;
use sprag_engine::convert::action_from;
use sprag_store::Mutation;
use sprag_store::records::{self, ExecutionStatus, TimerKey};
use sprag_store::traits::Variables;

use super::known::{KnownExecution, difference};
use super::{Circumstances, Model};
use crate::machines;
use crate::store::Applied;
use crate::violation::{Checked, Invariant, Violation, ensure};

/// What one commit did, as far as it was read.
pub(super) struct Commit<'a> {
    pub(super) around: Circumstances<'a>,
    pub(super) touched: BTreeSet<ExecutionId>,
    /// Executions that were closed before this commit.
    closed: BTreeSet<ExecutionId>,
    /// Actions that steps of this commit triggered and that must be written with it.
    pub(super) triggers: BTreeMap<(ExecutionId, String, u64), (Trigger, Arc<Machine>)>,
    /// Visits that ended, with the version that decided.
    pub(super) ended_visits: Vec<(ExecutionId, u64, Arc<Machine>)>,
    /// Actions that a step cancelled by name.
    pub(super) cancelled: BTreeSet<(ExecutionId, String)>,
    /// Changed actions as they were before.
    pub(super) before: BTreeMap<ActionId, Option<Action>>,
    /// Actions whose attempt began.
    pub(super) begun: Vec<ActionId>,
    /// Occurrences that were skipped for an earlier one.
    pub(super) overlapped: Vec<ActionId>,
}

impl Model {
    /// Reads an applied commit and checks everything that can be known about it.
    pub(crate) fn apply(&mut self, applied: &Applied, around: Circumstances<'_>) -> Checked {
        ensure(applied.stale.is_empty(), Invariant::Fences, || {
            format!(
                "a commit was accepted under {:?}, which another owner voided",
                applied.stale
            )
        })?;
        self.check_carried(applied)?;
        let around = self.as_decided(applied, around)?;
        let mut commit = Commit {
            around,
            touched: BTreeSet::new(),
            closed: self
                .executions
                .iter()
                .filter(|(_, known)| !known.status.is_open())
                .map(|(&id, _)| id)
                .collect(),
            triggers: BTreeMap::new(),
            ended_visits: Vec::new(),
            cancelled: BTreeSet::new(),
            before: BTreeMap::new(),
            begun: Vec::new(),
            overlapped: Vec::new(),
        };
        for mutation in &applied.mutations {
            self.read(&mut commit, mutation)?;
        }
        // Actions come last: what triggers and cancels them is known by then.
        for mutation in &applied.mutations {
            if let Mutation::InsertAction(row) | Mutation::UpdateAction(row) = mutation {
                self.serve(&applied.fences, row.execution.slot());
                self.read_action(&mut commit, row, matches!(mutation, Mutation::InsertAction(_)))?;
            }
        }
        self.check_commit(&commit)
    }

    /// Where several nodes share the store, a commit may land long after it was decided: it is held against the instant
    /// that its records bear, which was never in the future.
    fn as_decided<'a>(&self, applied: &Applied, around: Circumstances<'a>) -> Result<Circumstances<'a>, Violation> {
        if !self.is_shared() {
            return Ok(around);
        }
        let bears = applied.mutations.iter().filter_map(|mutation| self.instant(mutation));
        let decided = bears.max().unwrap_or(around.now);
        ensure(decided <= around.now, Invariant::TimersOnTime, || {
            format!("a commit of {} bears {decided}", around.now)
        })?;
        Ok(Circumstances { now: decided, ..around })
    }

    /// The instant at which a record was decided, where it bears one.
    fn instant(&self, mutation: &Mutation) -> Option<Timestamp> {
        match mutation {
            Mutation::InsertExecution(row) | Mutation::UpdateExecution { execution: row, .. } => Some(row.updated_at),
            Mutation::AppendHistory(row) => Some(row.at),
            Mutation::InsertAction(row) | Mutation::UpdateAction(row) => {
                let action = action_from(row.clone()).ok()?;
                let known = self.actions.get(&action.id).map(|known| &known.action);
                let is_revived = known.is_some_and(|known| known.status == Status::Dead) && action.status.is_open();
                let last = action.body.attempts.last();
                let is_new = known.and_then(|known| known.body.attempts.last()) != last;
                let attempt = last
                    .filter(|_| is_new)
                    .map(|last| last.end_time.unwrap_or(last.start_time));
                let asked = action
                    .body
                    .cancel
                    .filter(|_| known.is_none_or(|known| known.body.cancel.is_none()));
                let asked = asked.map(|request| request.at);
                let revived = is_revived.then_some(action.run_at);
                attempt.into_iter().chain(revived).chain(asked).max()
            }
            _ => None,
        }
    }

    /// A commit carries the fence of every shard that it writes to.
    fn check_carried(&self, applied: &Applied) -> Checked {
        let carries = |shard| applied.fences.iter().any(|fence| fence.shard == shard);
        let bare = |mutation: &&Mutation| mutation.home(self.shards).is_some_and(|shard| !carries(shard));
        let bare = applied.mutations.iter().find(bare);
        ensure(bare.is_none(), Invariant::Fences, || {
            format!("{:?} carry no fence for {bare:?}", applied.fences)
        })
    }

    fn read(&mut self, commit: &mut Commit<'_>, mutation: &Mutation) -> Checked {
        match mutation {
            Mutation::InsertMachineVersion(row) => self.read_version(row),
            Mutation::InsertExecution(row) => {
                // Clients tag what they start under an idempotency key, each key with a tag of its own.
                let is_first = |tag: &String| !self.executions.values().any(|known| known.row.tags.contains(tag));
                ensure(row.tags.iter().all(is_first), Invariant::ExactlyOnce, || {
                    format!("{:?} started a second execution", row.tags)
                })?;
                commit.touched.insert(row.id);
                self.executions.insert(row.id, KnownExecution::new(row.clone()));
                Ok(())
            }
            Mutation::UpdateExecution { execution, variables } => self.read_execution(commit, execution, *variables),
            Mutation::AppendHistory(row) => self.read_history(commit, row),
            Mutation::PutPlan(row) => self.read_plan(row),
            // Actions are read last, and answers are compared by their keys. No client makes jobs.
            Mutation::InsertAction(_)
            | Mutation::UpdateAction(_)
            | Mutation::PutIdempotency(_)
            | Mutation::InsertIdempotency(_)
            | Mutation::DeleteIdempotency(_)
            | Mutation::PutJob(_)
            | Mutation::InsertJobItem(_)
            | Mutation::DeleteJobItems { .. }
            | Mutation::DeleteJob(_)
            | Mutation::InsertAudit(_)
            | Mutation::InsertCatalogVersion(_)
            | Mutation::ExpectNewest { .. } => Ok(()),
            Mutation::PutTimer(timer) => {
                let known = self.touch(commit, timer.key.execution)?;
                known.timers.insert((timer.key.visit, timer.key.index), timer.clone());
                Ok(())
            }
            Mutation::DeleteTimer(key) => {
                // Deleting a timer that is not there is no change: one that began and ended in the same batch.
                let known = self.executions.get_mut(&key.execution);
                let gone = known.and_then(|known| known.timers.remove(&(key.visit, key.index)));
                if gone.is_some() {
                    commit.touched.insert(key.execution);
                }
                Ok(())
            }
            Mutation::InsertInbox(row) => self.read_inbox(commit, row),
            Mutation::DeleteInbox { execution, position } => self.read_taken(commit, *execution, *position),
            Mutation::InsertReceipt(receipt) => {
                let known = self.executions.get_mut(&receipt.execution);
                let is_new = known.is_some_and(|known| known.receipts.insert(receipt.message.clone()));
                ensure(is_new, Invariant::ExactlyOnce, || {
                    format!("message `{}` was answered twice", receipt.message)
                })
            }
            Mutation::DeleteReceipt { execution, message } => {
                if let Some(known) = self.executions.get_mut(execution) {
                    known.receipts.remove(message);
                }
                Ok(())
            }
            Mutation::PutRun(life) => {
                self.last_run = Some(*life);
                Ok(())
            }
            // Until when the lane believes its clock.
            Mutation::PutFact(fact) if fact.kind == records::FactKind::Mark && fact.key == "clock" => Ok(()),
            // No client in the simulated world switches, overrides or lets anything go.
            Mutation::PutFact(_) | Mutation::DeleteFact { .. } | Mutation::DeleteExecution(_) => Err(Violation::new(
                Invariant::AcknowledgedKept,
                format!("nobody asked for {mutation:?}"),
            )),
        }
    }

    fn read_version(&mut self, row: &records::MachineVersion) -> Checked {
        let expected = self.newest(&row.machine).unwrap_or(0) + 1;
        let Some(machine) = machines::by_digest(&row.digest).or_else(|| machines::of_plan(row)) else {
            return Err(Violation::new(
                Invariant::AcknowledgedKept,
                format!("nobody applied `{}` so", row.machine),
            ));
        };
        let newest = self.versions.get(&(row.machine.clone(), expected - 1));
        ensure(
            newest.is_none_or(|newest| newest.digest != row.digest),
            Invariant::ExactlyOnce,
            || {
                format!(
                    "version {} of `{}` is the one before it again",
                    row.version, row.machine
                )
            },
        )?;
        self.versions.insert((row.machine.clone(), row.version), machine);
        ensure(row.version == expected, Invariant::HistoryDense, || {
            format!(
                "version {} of `{}` comes after {}",
                row.version,
                row.machine,
                expected - 1
            )
        })
    }

    fn read_execution(&mut self, commit: &mut Commit<'_>, row: &records::Execution, variables: Variables) -> Checked {
        let known = self.touch(commit, row.id)?;
        let old = std::mem::replace(&mut known.row, row.clone());
        if variables == Variables::Unchanged {
            known.row.variables = old.variables;
        }
        Ok(())
    }

    /// An execution that this commit writes to; a closed one changes no more.
    pub(super) fn touch(&mut self, commit: &mut Commit<'_>, id: ExecutionId) -> Result<&mut KnownExecution, Violation> {
        commit.touched.insert(id);
        ensure(!commit.closed.contains(&id), Invariant::ClosedStands, || {
            format!("{id} was written to")
        })?;
        let unknown = || Violation::new(Invariant::AcknowledgedKept, format!("{id} was never started"));
        self.executions.get_mut(&id).ok_or_else(unknown)
    }

    fn read_inbox(&mut self, commit: &mut Commit<'_>, row: &records::InboxEntry) -> Checked {
        let known = self.touch(commit, row.execution)?;
        let Some(cause) = cause_of(&row.body) else {
            return Err(Violation::new(Invariant::Replay, "input in an inbox cannot be read"));
        };
        known.inbox.insert(row.position, cause);
        Ok(())
    }

    fn read_taken(&mut self, commit: &mut Commit<'_>, id: ExecutionId, position: u64) -> Checked {
        let known = self.touch(commit, id)?;
        let is_first = known.inbox.keys().next() == Some(&position);
        let Some(cause) = known.inbox.remove(&position) else {
            return Err(Violation::new(
                Invariant::ExactlyOnce,
                format!("{id} took input {position} twice"),
            ));
        };
        if !known.status.is_open() {
            return Ok(());
        }
        ensure(is_first, Invariant::Replay, || {
            format!("{id} took input {position} before an earlier one")
        })?;
        known.drop_popped()?;
        known.popped = Some(cause);
        Ok(())
    }

    fn read_action(&mut self, commit: &mut Commit<'_>, row: &records::Action, is_new: bool) -> Checked {
        let Ok(action) = action_from(row.clone()) else {
            return Err(Violation::new(Invariant::Replay, format!("{} cannot be read", row.id)));
        };
        commit.touched.insert(action.origin.execution);
        if is_new {
            self.action_created(commit, row, &action)
        } else {
            self.action_changed(commit, row, &action)
        }
    }

    fn check_commit(&mut self, commit: &Commit<'_>) -> Checked {
        if let Some((execution, action_id, ordinal)) = commit.triggers.keys().next() {
            let detail = format!("trigger {ordinal} of `{action_id}` in {execution} has no action");
            return Err(Violation::new(Invariant::Replay, detail));
        }
        for &id in &commit.touched {
            let Some(known) = self.executions.get_mut(&id) else {
                continue;
            };
            known.check(id, commit.around.now)?;
            known.check_timers(id)?;
            self.check_behind(id)?;
        }
        self.check_steps(&commit.begun)?;
        self.check_overlaps(commit)?;
        self.check_exits(commit)?;
        self.check_limits(commit)
    }
}

impl KnownExecution {
    /// Input that left the inbox undecided must have been superseded.
    pub(super) fn drop_popped(&mut self) -> Checked {
        let Some(cause) = self.popped.take() else { return Ok(()) };
        let may_go = match &cause {
            Cause::Ended(end) => self.is_superseded(&end.action_id, end.ordinal),
            _ => false,
        };
        ensure(may_go, Invariant::AcknowledgedKept, || {
            format!("input was dropped: {cause:?}")
        })
    }

    /// What must hold of an execution after every commit that touched it.
    fn check(&mut self, id: ExecutionId, now: sprag_core::time::Timestamp) -> Checked {
        self.drop_popped()?;
        ensure(self.row.sequence == self.length, Invariant::HistoryDense, || {
            format!("{id} has {} entries and says {}", self.length, self.row.sequence)
        })?;
        ensure(self.row.status == self.status, Invariant::Lifecycle, || {
            format!(
                "{id} is {}, by its history {}",
                self.row.status.word(),
                self.status.word()
            )
        })?;
        ensure(self.row.version == self.version, Invariant::Replay, || {
            format!("{id} is pinned to another version")
        })?;
        ensure(self.row.updated_at <= now, Invariant::TimersOnTime, || {
            format!("{id} was written in the future")
        })?;
        let Some(at) = &self.at else {
            return Err(Violation::new(
                Invariant::HistoryDense,
                format!("{id} has no first entry"),
            ));
        };
        if let Some(what) = difference(&self.row, at) {
            return Err(Violation::new(
                Invariant::Replay,
                format!("{id}: stored {what} differ from its history"),
            ));
        }
        if !self.status.is_open() {
            let rests = self.inbox.is_empty() && self.timers.is_empty();
            ensure(rests, Invariant::ClosedStands, || {
                format!("{id} is closed and still has timers or input")
            })?;
        }
        self.check_owed(id)
    }

    /// Every end of an action was fed once, waits in the inbox, was superseded, or came too late.
    fn check_owed(&mut self, id: ExecutionId) -> Checked {
        let owed = std::mem::take(&mut self.owed);
        for ((action_id, ordinal), count) in owed {
            let named = || format!("{id}: the end of `{action_id}` {ordinal}");
            ensure(count >= 0, Invariant::ExactlyOnce, || {
                format!("{} was fed more often than it came", named())
            })?;
            if count == 0 || !self.status.is_open() || self.is_superseded(&action_id, ordinal) {
                continue;
            }
            let is_it = |cause: &&Cause| matches!(cause, Cause::Ended(end) if end.action_id == action_id && end.ordinal == ordinal);
            let waiting = i64::try_from(self.inbox.values().filter(is_it).count()).unwrap_or(i64::MAX);
            ensure(waiting == count, Invariant::ExactlyOnce, || {
                format!("{} was not fed", named())
            })?;
            self.owed.insert((action_id, ordinal), count);
        }
        Ok(())
    }

    fn check_timers(&self, id: ExecutionId) -> Checked {
        let stored: BTreeMap<_, _> = self
            .timers
            .iter()
            .filter(|(place, _)| place.1 < TimerKey::SCHEDULES)
            .map(|(&at, t)| (at, t.due_at))
            .collect();
        ensure(stored == self.afters, Invariant::TimersOnTime, || {
            format!("{id}: stored timers are {stored:?}, due are {:?}", self.afters)
        })?;
        let schedules: BTreeSet<_> = self
            .timers
            .keys()
            .filter(|place| place.1 >= TimerKey::SCHEDULES)
            .copied()
            .collect();
        ensure(schedules == self.schedules, Invariant::TimersOnTime, || {
            format!("{id}: stored schedules are {schedules:?}, not {:?}", self.schedules)
        })
    }
}

/// The cause in the body of an inbox entry.
fn cause_of(body: &[u8]) -> Option<Cause> {
    #[derive(serde::Deserialize)]
    struct Waiting {
        cause: Cause,
    }
    serde_json::from_slice::<Waiting>(body)
        .ok()
        .map(|waiting| waiting.cause)
}

/// Whether an execution takes input at once.
pub(super) fn is_deciding(status: ExecutionStatus) -> bool {
    status == ExecutionStatus::Running
}
