//! Attempts: started under a permit, settled by their outcome, found again after a crash.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::cost;
use sprag_core::action::definition::TIMEOUT_DEFAULT;
use sprag_core::action::error::kind;
use sprag_core::action::progress::{Crashes, Rules};
use sprag_core::action::retry::Policy;
use sprag_core::action::{Action, ActionError, Definition, Failure, Lease, Next, OnUnknown, Outcome, Status};
use sprag_core::expression::template::Frozen;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::{AttemptJob, Decider, Due, ErrorLabel, ExecutionChange, Note, Task};
use crate::decide::gate;
use crate::leases::answer_bytes;
use crate::leases::table::LeasedAttempt;
use crate::requests::AttemptRef;

/// Starts an attempt of an action that the queue chose. It is committed before its effect.
pub(crate) fn begin(decider: &mut Decider<'_>, execution: ExecutionId, id: ActionId) {
    if decider.change(execution, |change| begin_one(change, id)).is_err() {
        decider.known.queue.give_back(id);
    }
}

fn begin_one(change: &mut ExecutionChange<'_, '_>, id: ActionId) {
    let queued = |action: &&Arc<Action>| action.status == Status::Queued;
    let found = change.state.actions.get(&id).filter(queued).cloned();
    let is_held = change.state.head.status == ExecutionStatus::Paused
        || change.decider.known.set_aside.contains(&change.state.head.id);
    let Some(action) = found.filter(|_| !is_held) else {
        change.known().queue.give_back(id);
        return;
    };
    if change.decider.is_switched_off(&action) || gate::is_stopped_at_the_gate(change, &action) {
        return;
    }
    let now = change.now();
    let Some(attempt) = change.known().queue.begin(&action, now) else {
        return;
    };
    if action.body.deadline_at.is_some_and(|deadline| deadline <= now) {
        change.known().queue.release(attempt);
        give_up(change, action);
        return;
    }
    start(change, action, attempt);
}

/// The attempt starts, unless its limits or its runner's poll have no room any more.
fn start(change: &mut ExecutionChange<'_, '_>, mut action: Arc<Action>, attempt: AttemptId) {
    let (id, now) = (action.id, change.now());
    let Some(fences) = change.decider.limit_fences(&action) else {
        change.known().queue.release(attempt);
        change.known().queue.join(&action);
        return;
    };
    let machine = change.machine_of(&action);
    let begun = Arc::make_mut(&mut action);
    if begun.begin(attempt, now).is_err() {
        change.known().queue.release(attempt);
        return;
    }
    let mut job = job_of(begun, &machine, attempt, Task::Run, now);
    if begun.body.runner.is_some() && !change.known().queue.polls.fits(attempt, answer_bytes(&job)) {
        // The action itself is unchanged: only this copy of it had begun.
        change.known().queue.release(attempt);
        if let Some(queued) = change.state.actions.get(&id) {
            change.decider.known.queue.join(queued);
        }
        return;
    }
    change.batch().fences.extend(fences);
    let note = Note::Begun {
        kind: change.decider.rules.kinds.index(&begun.kind),
        waited_millis: now.since(begun.run_at),
    };
    change.batch().notes.push(note);
    lease(change.decider, begun, &mut job);
    change.batch().jobs.push(job);
    change.decider.put_action(Arc::clone(&action));
    change.state.actions.insert(id, action);
}

/// The attempt starts in an external runner, where it took a place of that runner's poll. Committed before the runner
/// gets it.
fn lease(decider: &mut Decider<'_>, action: &mut Action, job: &mut AttemptJob) {
    let queue = &mut decider.known.queue;
    let Some((runner, millis)) = queue.polls.terms(job.attempt.attempt) else {
        return;
    };
    let now = decider.at.now;
    let lease = Lease::begin(runner, millis, now, now.plus(job.timeout_millis));
    decider.batch.due.push((lease.until, Due::Lease(job.attempt)));
    queue.leases.hold(LeasedAttempt {
        at: job.attempt,
        lease: lease.clone(),
        cancel_requested: false,
    });
    action.lease(lease.clone());
    job.lease = Some(lease);
}

/// The deadline of an action passed before an attempt could start.
fn give_up(change: &mut ExecutionChange<'_, '_>, mut action: Arc<Action>) {
    let error = ActionError::new(kind::TIMEOUT, "the deadline passed before an attempt could begin");
    let now = change.now();
    if let Ok(next) = Arc::make_mut(&mut action).give_up(error, now) {
        change.end_action(action, next);
    }
}

/// An attempt ended. The outcome of an attempt that is not the current one is counted and dropped.
pub(crate) fn settle(decider: &mut Decider<'_>, at: AttemptRef, outcome: Outcome) {
    let outcome = outcome.storable();
    let error = match &outcome {
        Outcome::Done(_) => None,
        Outcome::NotDone(failure) | Outcome::Unknown(failure) => Some(failure.error.kind.clone()),
    };
    decider.known.queue.end(at.attempt, error.as_deref(), decider.at.now);
    // An execution that is gone needs no outcome.
    let _ = decider.change(at.execution, |change| settle_one(change, at, outcome));
}

fn settle_one(change: &mut ExecutionChange<'_, '_>, at: AttemptRef, outcome: Outcome) {
    let is_current = |action: &&Arc<Action>| action.current().is_some_and(|current| current.id == at.attempt);
    let Some(current) = change.state.actions.get(&at.action).filter(is_current) else {
        drop_outcome(change.decider, at);
        return;
    };
    let machine = change.machine_of(current);
    // Even where the effect is known by now, the process died under the attempt.
    let crashed = matches!(
        &outcome,
        Outcome::NotDone(failure) | Outcome::Unknown(failure) if failure.error.kind == kind::CRASHED
    );
    // Taken out, it is shared with no other owner and need not be copied.
    let Some(mut shared) = change.state.actions.remove(&at.action) else {
        return;
    };
    let action = Arc::make_mut(&mut shared);
    let Ok(next) = settle_by(action, &machine, at.attempt, outcome, change.decider.at.now) else {
        change.state.actions.insert(at.action, shared);
        drop_outcome(change.decider, at);
        return;
    };
    note_settled(change.decider, action, next == Next::Again);
    if change.decider.known.queue.leases.end(at.attempt) {
        change.known().queue.polls.withdraw(at.attempt);
        change.batch().abandons.push(at);
    }
    // This batch need not find out any more what became of the attempt.
    change.batch().jobs.retain(|job| job.attempt != at);
    if !crashed {
        action.body.crashes = Crashes::default();
    }
    if next == Next::Again {
        let due = Due::Action(at.execution, at.action);
        change.decider.batch.due.push((action.run_at, due));
        change.decider.put_action(Arc::clone(&shared));
        change.state.actions.insert(at.action, shared);
        return;
    }
    change.end_action(shared, next);
}

/// The outcome of an attempt that is not the current one has no effect.
fn drop_outcome(decider: &mut Decider<'_>, at: AttemptRef) {
    decider.batch.notes.push(Note::Superseded);
    tracing::info!(attempt = %at.attempt, action = %at.action, "outcome dropped, attempt is not current");
}

/// An attempt was asked to stop and did not: its action is cancelled, its outcome unknown.
pub(crate) fn overdue(decider: &mut Decider<'_>, at: AttemptRef) {
    let is_asked = |action: &Arc<Action>| {
        action.body.cancel.is_some() && action.current().is_some_and(|current| current.id == at.attempt)
    };
    let found = decider.known.executions.get(at.execution);
    if !found
        .and_then(|found| found.actions.get(&at.action))
        .is_some_and(is_asked)
    {
        return;
    }
    decider.batch.abandons.push(at);
    let message = "the attempt was cancelled and did not end within 10 s";
    settle(decider, at, Outcome::unknown(kind::TIMEOUT, message));
}

/// An attempt that an earlier process left running: it holds its permits until it is known what became of it.
pub(crate) fn interrupted(decider: &mut Decider<'_>, execution: ExecutionId, id: ActionId) {
    // An execution that is gone has no attempt to settle.
    let _ = decider.change(execution, |change| interrupted_one(change, id));
}

fn interrupted_one(change: &mut ExecutionChange<'_, '_>, id: ActionId) {
    let Some(mut action) = change.state.actions.get(&id).cloned() else {
        return;
    };
    let Some(current) = action.current() else { return };
    let (now, attempt, lease) = (change.now(), current.id, current.lease.clone());
    if let Some(lease) = lease {
        // The external runner did not die with that process.
        let known = change.known();
        known.queue.adopt(attempt, &action, now);
        known.adopt_lease(&action, attempt, lease.renewed(now));
        return;
    }
    change.batch().interrupted += 1;
    let crashes = after_crash(action.body.crashes, change.decider.shards.after_short_run(id.slot()));
    Arc::make_mut(&mut action).body.crashes = crashes;
    change.known().queue.adopt(attempt, &action, now);
    let at = AttemptRef::of(&action, attempt);
    change.decider.put_action(Arc::clone(&action));
    change.state.actions.insert(id, Arc::clone(&action));
    if action.body.crashes.alone >= Crashes::DEAD_AFTER {
        dead_by_crash(change, action, at);
    } else if change.decider.rules.types.can_settle(&action.kind) {
        let machine = change.machine_of(&action);
        let job = job_of(&action, &machine, attempt, Task::Settle, now);
        change.batch().jobs.push(job);
    } else {
        change.known().queue.end(attempt, None, now);
        let outcome = Outcome::unknown(kind::CRASHED, "the process that ran the attempt died");
        settle_one(change, at, outcome);
    }
}

fn dead_by_crash(change: &mut ExecutionChange<'_, '_>, mut action: Arc<Action>, at: AttemptRef) {
    let now = change.now();
    change.known().queue.end(at.attempt, None, now);
    let error = ActionError::new(kind::CRASHED, "the process died three times while the action ran alone");
    let failure = Failure {
        hopeless: true,
        ..Failure::new(error)
    };
    let machine = change.machine_of(&action);
    let outcome = Outcome::Unknown(failure);
    let settled = settle_by(Arc::make_mut(&mut action), &machine, at.attempt, outcome, now);
    if let Ok(next) = settled {
        note_settled(change.decider, &action, false);
        change.end_action(action, next);
    }
}

fn note_settled(decider: &mut Decider<'_>, action: &Action, again: bool) {
    decider.trace_attempt(action);
    decider.log_settled(action, again);
    if let Some(attempt) = action.body.attempts.last()
        && let Some(outcome) = attempt.outcome
    {
        decider.batch.notes.push(Note::Settled {
            kind: decider.rules.kinds.index(&action.kind),
            outcome,
            took_millis: decider.at.now.since(attempt.start_time),
            again,
            error: attempt.error.as_ref().map(|error| ErrorLabel::of(&error.kind)),
            cost_micros: millionths(attempt.cost),
        });
    }
}

/// The job of an attempt that starts, or is asked about, now.
pub(crate) fn job_of(action: &Action, machine: &Machine, attempt: AttemptId, task: Task, now: Timestamp) -> AttemptJob {
    let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
    let timeout = timeout_of(action, definition);
    let left = action.body.deadline_at.map_or(u64::MAX, |deadline| deadline.since(now));
    AttemptJob {
        attempt: AttemptRef::of(action, attempt),
        task,
        machine: action.origin.machine.clone(),
        owner: definition.and_then(|definition| definition.owner.clone()),
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

/// The policy in force: the definition's, unless a person edited the action's own. A definition that is gone has none.
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

/// Milliseconds an attempt may take: the definition's, unless a person edited the action's own.
pub(crate) fn timeout_of(action: &Action, definition: Option<&Definition>) -> u64 {
    let defined = definition.map_or(TIMEOUT_DEFAULT, |found| found.timeout);
    action.body.overrides.timeout.unwrap_or(defined)
}

/// What an attempt is given: the facts frozen at the trigger, or the definition's own constant.
pub(crate) fn config_of(action: &Action, definition: Option<&Definition>) -> Frozen {
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

/// Three short process runs make a suspect; a suspect ran alone, so its action caused the death of its process.
fn after_crash(crashes: Crashes, after_short_run: bool) -> Crashes {
    match (after_short_run, crashes.is_suspect()) {
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
