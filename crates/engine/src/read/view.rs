//! Executions and actions as the API shows them, made from what the lane and the store know.
//!
//! The types are those of [`sprag_wire`]: what is made here is written as it is, into answers and into stored answers.

use serde_json::Map;
use sprag_core::action::{Action, AttemptRecord, Lease, Status, Verdict};
use sprag_core::machine::Machine;
use sprag_core::operation::WorkflowStatus;
use sprag_core::time::Timestamp;
use sprag_store::nodes::Node;
use sprag_store::records::ExecutionStatus;
use sprag_wire as wire;

pub use sprag_wire::{Action as ActionView, Execution as ExecutionView, Waiting, WaitingFor};

use crate::decide::plans::{PlanState, plan_of};
use crate::decide::state::ExecutionState;
use crate::leases::table::Leases;
use crate::queue::control::Switches;
use crate::requests::{Applied, Sent};

/// An execution with why it does not move, as far as its own state says.
pub(crate) fn execution(aggregate: &ExecutionState, machine: &Machine) -> wire::Execution {
    let head = &aggregate.head;
    wire::Execution {
        id: head.id,
        key: head.key.clone(),
        machine: head.machine.to_string(),
        version: head.version,
        status: execution_status(head.status),
        configuration: machine.configuration(&aggregate.execution.active),
        variables: Map::clone(&aggregate.execution.variables),
        tags: head.tags.clone(),
        waiting: execution_waiting(aggregate),
        sequence: head.sequence,
        created_at: head.created_at,
        updated_at: head.updated_at,
        output: aggregate.output.clone(),
        failure: aggregate.failure.clone(),
    }
}

/// How an execution stands.
pub(crate) fn execution_status(status: ExecutionStatus) -> wire::ExecutionStatus {
    match status {
        ExecutionStatus::Running => wire::ExecutionStatus::Running,
        ExecutionStatus::Paused => wire::ExecutionStatus::Paused,
        ExecutionStatus::Completed => wire::ExecutionStatus::Completed,
        ExecutionStatus::Failed => wire::ExecutionStatus::Failed,
        ExecutionStatus::Cancelled => wire::ExecutionStatus::Cancelled,
    }
}

/// An action as far as the store knows. Only its owner knows what a queued one waits for.
pub(crate) fn action(action: &Action, execution: ExecutionStatus) -> wire::Action {
    let body = &action.body;
    wire::Action {
        id: action.id,
        action_id: action.action_id.clone(),
        kind: action.kind.clone(),
        status: action.status.into(),
        waiting: action_waiting(action, execution),
        attempts: body.attempts.iter().map(attempt).collect(),
        success: success(action.status),
        duration: duration(action),
        result: body.result.clone(),
        result_events: result_events(action),
        last_error: body.last_error.clone(),
        execution_id: action.origin.execution,
        machine: action.origin.machine.clone(),
        version: action.origin.version,
        trigger: trigger(action),
        runner: body.runner.as_ref().unwrap_or(&action.kind).clone(),
        tags: action.tags.clone(),
        priority: action.priority,
        created_at: action.created_at,
        run_at: action.run_at,
        died_at: body.died_at,
        fingerprint: (action.status == Status::Dead).then(|| action.fingerprint()).flatten(),
        cost_estimate: cost(action),
        idempotency_key: action.idempotency_key(),
        config: body.frozen.as_ref().map(|frozen| frozen.config.clone()),
        cancel_requested: body.cancel.is_some(),
        skipped: body.skipped.map(Into::into),
        remark: body.remark.map(Into::into),
    }
}

/// What triggered an action, as far as it says itself.
fn trigger(action: &Action) -> Option<wire::ActionTrigger> {
    let Action { body, .. } = action;
    (body.step.is_some() || body.visit.is_some()).then_some(wire::ActionTrigger {
        step: body.step,
        state: None,
        visit: body.visit,
    })
}

fn attempt(record: &AttemptRecord) -> wire::Attempt {
    let AttemptRecord {
        id,
        number,
        start_time,
        end_time,
        outcome,
        error,
        cost,
        lease,
        metadata,
    } = record.clone();
    wire::Attempt {
        id,
        number,
        start_time,
        end_time,
        duration: end_time.map(|end| end.since(start_time)),
        outcome: outcome.map(Into::into),
        success: outcome.map(|outcome| outcome == Verdict::Done),
        error,
        cost,
        lease: lease.map(shown_lease),
        metadata,
    }
}

fn shown_lease(lease: Lease) -> wire::Lease {
    let Lease {
        runner,
        until,
        millis: _,
        deadline: _,
    } = lease;
    wire::Lease { runner, until }
}

/// The events that an action's runner made of its result.
pub fn result_events(action: &Action) -> Vec<wire::ResultEvent> {
    let ended = action.body.attempts.last().and_then(|attempt| attempt.end_time);
    let event = action.body.event.iter().map(|event| wire::ResultEvent {
        kind: event.kind.clone(),
        payload: event.payload.clone(),
        source: "action_runner".to_owned(),
        timestamp: ended.unwrap_or(action.run_at),
    });
    event.collect()
}

fn success(status: Status) -> Option<bool> {
    match status {
        Status::Succeeded => Some(true),
        Status::Dead | Status::Cancelled | Status::Archived => Some(false),
        Status::Scheduled | Status::Queued | Status::Running | Status::Retrying | Status::Skipped => None,
    }
}

fn duration(action: &Action) -> Option<u64> {
    let attempts = &action.body.attempts;
    let end = attempts.last()?.end_time?;
    Some(end.since(attempts.first()?.start_time))
}

/// The cost of the attempts that are kept; none where no cost is known.
pub(crate) fn cost(action: &Action) -> Option<f64> {
    let known = action.body.attempts.iter().filter_map(|attempt| attempt.cost);
    known.fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
}

fn action_waiting(action: &Action, execution: ExecutionStatus) -> Waiting {
    let waiting = |reason, object: String, until| Waiting::Waiting {
        reason,
        object,
        since: action.run_at,
        until,
    };
    let paused = execution == ExecutionStatus::Paused;
    match action.status {
        Status::Running => action.current().map_or(Waiting::Done, |attempt| Waiting::Running {
            attempt: attempt.id,
            since: attempt.start_time,
            node: None,
            node_until: None,
            lease: attempt.lease.clone().map(shown_lease),
        }),
        Status::Queued if paused => waiting(WaitingFor::Pause, action.origin.execution.to_string(), None),
        Status::Scheduled if action.body.behind => waiting(
            WaitingFor::Dependency,
            format!("the running occurrence of {}", action.action_id),
            None,
        ),
        Status::Scheduled => Waiting::Waiting {
            reason: WaitingFor::Timer,
            object: action.id.to_string(),
            since: action.created_at,
            until: Some(action.run_at),
        },
        Status::Queued => waiting(WaitingFor::Permit, action.kind.clone(), None),
        Status::Retrying => Waiting::Retrying {
            attempt: action.attempts_made(),
            next_at: action.run_at,
            error: action
                .body
                .last_error
                .as_ref()
                .map(|error| error.kind.clone())
                .unwrap_or_default(),
        },
        Status::Succeeded | Status::Dead | Status::Cancelled | Status::Skipped | Status::Archived => Waiting::Done,
    }
}

/// An action with the leases that heartbeats have renewed since they were stored.
pub(crate) fn renew(action: &mut wire::Action, leases: &Leases) {
    renew_waiting(&mut action.waiting, leases);
    if let Some(last) = action.attempts.last_mut()
        && let (Some(lease), Some(until)) = (last.lease.as_mut(), leases.until(last.id))
    {
        lease.until = until;
    }
}

/// Says that an action waits for a person, if it is queued and its plan does.
pub(crate) fn name_approval(waiting: &mut Waiting, plan: Option<&PlanState>) {
    let undecided = plan.filter(|plan| plan.status == WorkflowStatus::AwaitingApproval);
    if let Some(plan) = undecided.filter(|_| waiting.is_for_permit()) {
        *waiting = for_approval(plan);
    }
}

/// What waits for a person to decide about a plan.
pub(crate) fn for_approval(plan: &PlanState) -> Waiting {
    Waiting::Waiting {
        reason: WaitingFor::Approval,
        object: plan.id.to_string(),
        since: plan.updated_at,
        until: plan.decide_by,
    }
}

/// The same for why something does not move.
pub(crate) fn renew_waiting(waiting: &mut Waiting, leases: &Leases) {
    if let Waiting::Running {
        attempt,
        lease: Some(lease),
        ..
    } = waiting
        && let Some(until) = leases.until(*attempt)
    {
        lease.until = until;
    }
}

/// Says which node runs an attempt.
pub(crate) fn name_node(waiting: &mut Waiting, owner: Option<&Node>) {
    if let Waiting::Running { node, node_until, .. } = waiting {
        *node = owner.map(|owner| owner.id);
        *node_until = owner.map(|owner| owner.lease_until);
    }
}

/// Says which switch holds a queued one of these actions: then nothing else would help.
pub(crate) fn name_switch<'a>(
    waiting: &mut Waiting,
    mut actions: impl Iterator<Item = &'a Action>,
    switches: &Switches,
    now: Timestamp,
) {
    let held = |action: &Action| {
        let queued = action.status == Status::Queued;
        queued.then(|| switches.waiting(action, now)).flatten()
    };
    if waiting.is_for_permit()
        && let Some(held) = actions.find_map(held)
    {
        *waiting = held;
    }
}

/// The nearest thing that could move an execution: an attempt under way, a retry, a due action, a timer, a message.
pub(crate) fn execution_waiting(aggregate: &ExecutionState) -> Waiting {
    let head = &aggregate.head;
    let waiting = |reason, object: String| Waiting::Waiting {
        reason,
        object,
        since: head.updated_at,
        until: None,
    };
    match head.status {
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => return Waiting::Done,
        ExecutionStatus::Paused => return waiting(WaitingFor::Pause, head.id.to_string()),
        ExecutionStatus::Failed => return waiting(WaitingFor::Decision, head.id.to_string()),
        ExecutionStatus::Running => {}
    }
    let rank = |action: &&Action| match action.status {
        Status::Running => 0,
        Status::Queued => 1,
        Status::Retrying => 2,
        _ => 3,
    };
    if let Some(action) = aggregate
        .open()
        .min_by_key(rank)
        .filter(|action| action.status != Status::Scheduled)
    {
        let mut waiting = action_waiting(action, head.status);
        let plan = plan_of(action).and_then(|id| aggregate.plans.get(&id));
        name_approval(&mut waiting, plan);
        return waiting;
    }
    let timers = aggregate.timers.values().map(|timer| timer.due_at);
    let delayed = aggregate
        .actions
        .values()
        .filter(|action| !action.body.behind)
        .map(|action| action.run_at);
    match timers.chain(delayed).min() {
        Some(until) => Waiting::Waiting {
            reason: WaitingFor::Timer,
            object: head.id.to_string(),
            since: head.updated_at,
            until: Some(until),
        },
        None => waiting(WaitingFor::Message, head.id.to_string()),
    }
}

impl From<Sent> for wire::Sent {
    /// Without the execution: the sender of a message knows it.
    fn from(sent: Sent) -> Self {
        let Sent {
            execution: _,
            handled,
            queued,
            configuration,
            sequence,
            accepts,
        } = sent;
        Self {
            queued,
            handled,
            configuration,
            sequence,
            accepts,
        }
    }
}

impl From<Applied> for wire::Applied {
    /// Without whether the version is new: the API says that with its status.
    fn from(applied: Applied) -> Self {
        let Applied {
            id,
            version,
            created: _,
            same_as,
        } = applied;
        Self {
            id,
            version,
            same_as_version: same_as,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_has_a_word_for_every_status_and_no_others() {
        let statuses = ExecutionStatus::ALL.map(|status| (status.word(), execution_status(status)));
        assert!(statuses.iter().all(|(word, shown)| shown.word() == *word));
        assert_eq!(statuses.len(), wire::ExecutionStatus::WORDS.len());
    }
}
