//! Attempts: begun under a permit, settled by their outcome, found again after a crash.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::cost;
use sprag_core::action::definition::TIMEOUT_DEFAULT;
use sprag_core::action::error::kind;
use sprag_core::action::progress::{Crashes, Rules};
use sprag_core::action::retry::Policy;
use sprag_core::action::{Action, ActionError, Definition, Failure, Next, OnUnknown, Outcome, Status};
use sprag_core::expression::template::Frozen;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::Error;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::Variables;

use crate::aggregate::Aggregate;
use crate::command::{Answer, AttemptRef, Code, Refusal, Reply};
use crate::hands::{Job, Task};
use crate::lane::{Lane, Write};
use crate::leasing::answer_bytes;
use crate::metrics::{ErrorLabel, Note};
use crate::timers::Due;

impl Lane {
    /// Begins an attempt of an action that the dispatcher chose. Committed before its effect.
    pub(crate) fn begin(&mut self, execution: ExecutionId, id: ActionId) -> Result<(), Error> {
        let Ok(mut aggregate) = self.take(execution) else {
            self.dispatcher.give_back(id);
            return Ok(());
        };
        let begun = self.begin_one(&mut aggregate, id);
        self.cache.put(aggregate);
        begun
    }

    fn begin_one(&mut self, aggregate: &mut Aggregate, id: ActionId) -> Result<(), Error> {
        let held = aggregate.head.status == ExecutionStatus::Paused;
        let Some(mut action) = aggregate
            .actions
            .get(&id)
            .filter(|action| action.status == Status::Queued)
            .cloned()
        else {
            self.dispatcher.give_back(id);
            return Ok(());
        };
        if held || self.is_set_aside(aggregate.head.id) {
            self.dispatcher.give_back(id);
            return Ok(());
        }
        if self.is_switched_off(&action) {
            return Ok(());
        }
        let Some(attempt) = self.dispatcher.begin(&action, self.now) else {
            return Ok(());
        };
        let machine = self.machine_of_action(&action)?;
        if action.body.deadline_at.is_some_and(|deadline| deadline <= self.now) {
            self.dispatcher.release(attempt);
            let error = ActionError::new(kind::TIMEOUT, "the deadline passed before an attempt could begin");
            return self.give_up(aggregate, action, error);
        }
        let Some(fences) = self.home_fences(&action) else {
            self.dispatcher.release(attempt);
            self.dispatcher.join(&action);
            return Ok(());
        };
        let begun = Arc::make_mut(&mut action);
        if begun.begin(attempt, self.now).is_err() {
            self.dispatcher.release(attempt);
            return Ok(());
        }
        let mut job = self.job(begun, &machine, attempt, Task::Run);
        if begun.body.runner.is_some() && !self.dispatcher.polls.fits(attempt, answer_bytes(&job)) {
            // The action itself is unchanged: only this copy of it had begun.
            self.dispatcher.release(attempt);
            if let Some(queued) = aggregate.actions.get(&id) {
                self.dispatcher.join(queued);
            }
            return Ok(());
        }
        self.batch.fences.extend(fences);
        self.note_begun(begun);
        self.lease_attempt(begun, &mut job);
        self.batch.jobs.push(job);
        self.batch
            .put_action(Write::Update(Variables::Unchanged), action.clone());
        aggregate.actions.insert(id, action);
        Ok(())
    }

    fn give_up(&mut self, aggregate: &mut Aggregate, mut action: Arc<Action>, error: ActionError) -> Result<(), Error> {
        let Ok(next) = Arc::make_mut(&mut action).give_up(error, self.now) else {
            return Ok(());
        };
        let own = self.machine_of(aggregate)?;
        self.end_action(aggregate, &own, action, next);
        Ok(())
    }

    /// The machine version whose definition an action follows: its own, even after its execution moved on.
    pub(super) fn machine_of_action(&mut self, action: &Action) -> Result<Arc<Machine>, Error> {
        let (name, version) = (action.origin.machine.clone(), action.origin.version);
        self.machine(&name, version)?.ok_or_else(|| Error::Corrupt {
            detail: format!("machine `{name}` version {version} is not stored"),
        })
    }

    fn job(&self, action: &Action, machine: &Machine, attempt: AttemptId, task: Task) -> Job {
        job_of(action, machine, attempt, task, self.now)
    }

    /// An attempt ended. The outcome of an attempt that is not the current one is counted and dropped.
    pub(super) fn settle(&mut self, at: AttemptRef, outcome: Outcome) -> Result<(), Error> {
        let outcome = outcome.storable();
        let error = match &outcome {
            Outcome::Done(_) => None,
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => Some(failure.error.kind.clone()),
        };
        self.dispatcher.end(at.attempt, error.as_deref(), self.now);
        let Ok(mut aggregate) = self.take(at.execution) else {
            return Ok(());
        };
        let settled = self.settle_one(&mut aggregate, at, outcome);
        self.cache.put(aggregate);
        settled
    }

    fn settle_one(&mut self, aggregate: &mut Aggregate, at: AttemptRef, outcome: Outcome) -> Result<(), Error> {
        let is_current = |action: &&Arc<Action>| action.current().is_some_and(|current| current.id == at.attempt);
        let Some(current) = aggregate.actions.get(&at.action).filter(is_current) else {
            self.drop_outcome(at);
            return Ok(());
        };
        let machine = self.machine_of_action(current)?;
        // Whatever is known about the effect by now, the process died under it.
        let crashed = matches!(
            &outcome,
            Outcome::NotDone(failure) | Outcome::Unknown(failure) if failure.error.kind == kind::CRASHED
        );
        // Taken out, it is nobody else's and need not be copied.
        let Some(mut shared) = aggregate.actions.remove(&at.action) else {
            return Ok(());
        };
        let action = Arc::make_mut(&mut shared);
        let Ok(next) = settle_by(action, &machine, at.attempt, outcome, self.now) else {
            aggregate.actions.insert(at.action, shared);
            self.drop_outcome(at);
            return Ok(());
        };
        self.note_settled(action, next == Next::Again);
        if self.dispatcher.leases.end(at.attempt) {
            self.dispatcher.polls.withdraw(at.attempt);
            self.batch.abandons.push(at);
        }
        // Whatever this batch was to find out about the attempt is known now.
        self.batch.jobs.retain(|job| job.attempt != at);
        if !crashed {
            action.body.crashes = Crashes::default();
        }
        if next == Next::Again {
            self.batch
                .due
                .push((action.run_at, Due::Action(at.execution, at.action)));
            self.batch
                .put_action(Write::Update(Variables::Unchanged), Arc::clone(&shared));
            aggregate.actions.insert(at.action, shared);
            return Ok(());
        }
        let own = self.machine_of(aggregate)?;
        self.end_action(aggregate, &own, shared, next);
        Ok(())
    }

    /// An outcome of an attempt that is not the current one says nothing any more.
    fn drop_outcome(&self, at: AttemptRef) {
        self.metrics.superseded.inc();
        tracing::info!(attempt = %at.attempt, "the outcome of an old attempt was dropped");
    }

    /// A running attempt wants a value committed with it.
    pub(super) fn checkpoint(&mut self, at: AttemptRef, value: &Value) -> Reply {
        let superseded = || {
            Refusal::new(
                Code::AttemptSuperseded,
                format!("attempt `{}` is not current", at.attempt),
            )
        };
        let Ok(mut aggregate) = self.take(at.execution) else {
            return Err(superseded());
        };
        let reply = match aggregate.actions.get_mut(&at.action) {
            Some(action) if action.current().is_some_and(|current| current.id == at.attempt) => {
                Arc::make_mut(action).body.checkpoint = Some(value.clone());
                self.batch
                    .put_action(Write::Update(Variables::Unchanged), action.clone());
                Ok(Answer::Checkpointed)
            }
            _ => Err(superseded()),
        };
        self.cache.put(aggregate);
        reply
    }

    /// An attempt was asked to stop and did not: its action is cancelled, its outcome unknown.
    pub(super) fn overdue(&mut self, at: AttemptRef) -> Result<(), Error> {
        let is_current = self
            .cache
            .get(at.execution)
            .and_then(|found| found.actions.get(&at.action))
            .is_some_and(|action| {
                action.body.cancel.is_some() && action.current().is_some_and(|current| current.id == at.attempt)
            });
        if !is_current {
            return Ok(());
        }
        self.batch.abandons.push(at);
        let message = "the attempt was cancelled and did not end within 10 s";
        self.settle(at, Outcome::unknown(kind::TIMEOUT, message))
    }

    /// An attempt that an earlier process left running: it holds its permits until it is known what became of it.
    pub(super) fn lost(&mut self, execution: ExecutionId, id: ActionId) -> Result<(), Error> {
        let Ok(mut aggregate) = self.take(execution) else {
            return Ok(());
        };
        let lost = self.lost_one(&mut aggregate, id);
        self.cache.put(aggregate);
        lost
    }

    fn lost_one(&mut self, aggregate: &mut Aggregate, id: ActionId) -> Result<(), Error> {
        let Some(mut action) = aggregate.actions.get(&id).cloned() else {
            return Ok(());
        };
        let Some(current) = action.current() else {
            return Ok(());
        };
        let (attempt, lease) = (current.id, current.lease.clone());
        if let Some(lease) = lease {
            // Whoever performs it did not die with that process.
            self.dispatcher.adopt(attempt, &action, self.now);
            self.adopt_lease(&action, attempt, lease.renewed(self.now));
            return Ok(());
        }
        self.batch.interrupted += 1;
        let crashes = after_crash(action.body.crashes, self.owned.after_short_life(id.slot()));
        Arc::make_mut(&mut action).body.crashes = crashes;
        self.dispatcher.adopt(attempt, &action, self.now);
        let at = AttemptRef {
            attempt,
            action: id,
            execution: aggregate.head.id,
        };
        self.batch
            .put_action(Write::Update(Variables::Unchanged), action.clone());
        aggregate.actions.insert(id, action.clone());
        if action.body.crashes.alone >= Crashes::DEAD_AFTER {
            return self.dead_by_crash(aggregate, action, at);
        }
        if self.hands().can_settle(&action.kind) {
            let machine = self.machine_of_action(&action)?;
            self.batch.jobs.push(self.job(&action, &machine, attempt, Task::Settle));
            return Ok(());
        }
        self.dispatcher.end(attempt, None, self.now);
        self.settle_one(
            aggregate,
            at,
            Outcome::unknown(kind::CRASHED, "the process that ran the attempt died"),
        )
    }

    fn dead_by_crash(
        &mut self,
        aggregate: &mut Aggregate,
        mut action: Arc<Action>,
        at: AttemptRef,
    ) -> Result<(), Error> {
        self.dispatcher.end(at.attempt, None, self.now);
        let error = ActionError::new(kind::CRASHED, "the process died three times while the action ran alone");
        let failure = Failure {
            hopeless: true,
            ..Failure::new(error)
        };
        let machine = self.machine_of_action(&action)?;
        let settled = settle_by(
            Arc::make_mut(&mut action),
            &machine,
            at.attempt,
            Outcome::Unknown(failure),
            self.now,
        );
        match settled {
            Ok(next) => {
                self.note_settled(&action, false);
                let own = self.machine_of(aggregate)?;
                self.end_action(aggregate, &own, action, next);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    fn note_begun(&mut self, action: &Action) {
        self.batch.notes.push(Note::Begun {
            kind: self.metrics.kinds.index(&action.kind),
            waited_millis: self.now.since(action.run_at),
        });
    }

    fn note_settled(&mut self, action: &Action, again: bool) {
        self.trace_attempt(action);
        self.log_settled(action, again);
        if let Some(attempt) = action.body.attempts.last()
            && let Some(outcome) = attempt.outcome
        {
            self.batch.notes.push(Note::Settled {
                kind: self.metrics.kinds.index(&action.kind),
                outcome,
                took_millis: self.now.since(attempt.start_time),
                again,
                error: attempt.error.as_ref().map(|error| ErrorLabel::of(&error.kind)),
                cost_micros: millionths(attempt.cost),
            });
        }
    }
}

/// The job of an attempt that begins, or is asked about, now.
pub(crate) fn job_of(action: &Action, machine: &Machine, attempt: AttemptId, task: Task, now: Timestamp) -> Job {
    let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
    let timeout = timeout_of(action, definition);
    let left = action.body.deadline_at.map_or(u64::MAX, |deadline| deadline.since(now));
    Job {
        attempt: AttemptRef {
            attempt,
            action: action.id,
            execution: action.origin.execution,
        },
        task,
        machine: action.origin.machine.clone(),
        action_id: action.action_id.clone(),
        kind: action.kind.clone(),
        number: action.attempts_made(),
        config: config_of(action, definition),
        idempotency_key: action.idempotency_key(),
        timeout_millis: timeout.min(left),
        checkpoint: action.body.checkpoint.clone(),
        templates: Arc::clone(&machine.templates),
        lease: None,
    }
}

/// Settles an attempt by the rules of the action's own definition.
pub(crate) fn settle_by(
    action: &mut Action,
    machine: &Machine,
    attempt: AttemptId,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Next, sprag_core::action::progress::Stale> {
    let found = machine.action(&action.action_id).map(|(_, definition)| definition);
    let policy = policy_of(action, found);
    let rules = Rules {
        policy: &policy,
        on_unknown: found.map_or(OnUnknown::default(), |definition| definition.on_unknown),
        cost: cost_of(action, found),
    };
    action.settle(attempt, outcome, rules, now)
}

/// The policy in force: the definition's, unless somebody edited the action's own. A definition that is gone has none.
pub(crate) fn policy_of<'d>(action: &Action, definition: Option<&'d Definition>) -> Cow<'d, Policy> {
    let defined = definition.map_or_else(|| Cow::Owned(Policy::default()), |found| Cow::Borrowed(&found.policy));
    if action.body.overrides.retry_policy.is_none() {
        return defined;
    }
    Cow::Owned(action.body.overrides.policy(&defined))
}

/// A cost as it is counted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are checked to be from 0, and a float that is too large for u64 saturates"
)]
fn millionths(cost: Option<f64>) -> u64 {
    (cost.unwrap_or(0.0) * 1_000_000.0).round() as u64
}

/// What an attempt costs, as its configuration estimates it.
fn cost_of(action: &Action, definition: Option<&Definition>) -> Option<f64> {
    match &action.body.frozen {
        Some(frozen) => cost::estimate(&frozen.config),
        None => definition.and_then(|found| cost::estimate(found.config.constant()?)),
    }
}

/// Milliseconds an attempt may take: the definition's, unless somebody edited the action's own.
pub(crate) fn timeout_of(action: &Action, definition: Option<&Definition>) -> u64 {
    let defined = definition.map_or(TIMEOUT_DEFAULT, |found| found.timeout);
    action.body.overrides.timeout.unwrap_or(defined)
}

/// What an attempt is given: the facts frozen at the trigger, or the definition's own constant.
pub(super) fn config_of(action: &Action, definition: Option<&Definition>) -> Frozen {
    if let Some(frozen) = &action.body.frozen {
        return frozen.clone();
    }
    let constant = definition.and_then(|definition| definition.config.constant().cloned());
    Frozen {
        config: constant.unwrap_or(Value::Null),
        late: Vec::new(),
        bindings: serde_json::Map::new(),
    }
}

/// Three short lives make a suspect; a suspect ran alone, so its process's death is its own.
fn after_crash(crashes: Crashes, after_short_life: bool) -> Crashes {
    match (after_short_life, crashes.is_suspect()) {
        (true, true) => Crashes {
            alone: crashes.alone + 1,
            ..crashes
        },
        (true, false) => Crashes {
            in_company: crashes.in_company + 1,
            ..crashes
        },
        (false, _) => Crashes::default(),
    }
}
