//! The gate: whether something that people must approve may run now.
//!
//! One check, asked when a plan starts, when an attempt of a step begins, at every retry and when a workflow is resumed.
//! What may not run stays queued and says that it waits for approval. So does a step whose plan is not there.

use std::sync::Arc;

use sprag_core::action::error::kind;
use sprag_core::action::{Action, ActionError, CancelledBy, Status};
use sprag_core::ids::WorkflowId;
use sprag_core::operation::approval::ApprovalVerdict;
use sprag_core::operation::{StepPhase, WorkflowPhase, WorkflowStatus, is_compensation};
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::ExecutionChange;
use super::convert::{Entry, What};
use super::plans::{PlanState, plan_of};
use super::state::ExecutionState;
use crate::requests::{Code, Refusal};

/// What the gate says of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It may run.
    Open,
    /// It waits for a person.
    Waits,
    /// The time in which it could begin is over.
    Late,
    /// Its plan was ended.
    Ended,
}

/// Whether an action may run now, as far as people must approve it.
pub(crate) fn passage(change: &ExecutionChange<'_, '_>, action: &Action) -> Passage {
    let Some(id) = plan_of(action) else {
        return Passage::Open;
    };
    let Some(plan) = change.state.plans.get(&id) else {
        return Passage::Waits;
    };
    if plan.is_over() {
        return Passage::Ended;
    }
    // A step has begun with its first attempt, and a compensation with the plan: they need an approval that stands, in
    // whatever time.
    let first = action.body.attempts.first().map(|attempt| attempt.start_time);
    let begun = first.or(plan.decided.started_at.filter(|_| is_compensation(&action.action_id)));
    let now = begun.unwrap_or(change.now());
    let (policy, tokens) = (&change.decider.rules.approval, &change.decider.known.control.tokens);
    match plan.verdict(policy, tokens, now, put_off(plan, action)) {
        ApprovalVerdict::NotNeeded | ApprovalVerdict::Approved { .. } => Passage::Open,
        ApprovalVerdict::Expired => Passage::Late,
        ApprovalVerdict::Rejected => Passage::Ended,
        ApprovalVerdict::Needed { .. } | ApprovalVerdict::Undecided | ApprovalVerdict::Revoked => Passage::Waits,
    }
}

/// Keeps an action that was chosen from starting, if the gate does.
pub(crate) fn is_stopped_at_the_gate(change: &mut ExecutionChange<'_, '_>, action: &Arc<Action>) -> bool {
    let passage = passage(change, action);
    if passage == Passage::Open {
        return false;
    }
    change.known().queue.give_back(action.id);
    change.batch().set_aside(Arc::clone(action));
    let plan = plan_of(action).and_then(|id| change.state.plans.get(&id).cloned());
    match (passage, plan) {
        (Passage::Late, Some(plan)) => expire(change, plan),
        (Passage::Waits, Some(plan)) if plan.status == WorkflowStatus::InProgress => wait_for_approval(change, plan),
        _ => {}
    }
    true
}

/// Whether people have not approved an action yet, and no attempt of it was made: it is not due before.
pub(crate) fn is_undecided(state: &ExecutionState, action: &Action) -> bool {
    let plan = action
        .body
        .approval
        .then(|| state.plans.get(&action.id.into()))
        .flatten();
    let waits = plan.is_some_and(|plan| plan.status == WorkflowStatus::AwaitingApproval);
    waits && action.body.attempts.is_empty()
}

/// Refuses what somebody wants of an action that the gate stops.
pub(crate) fn refuse_at_the_gate(change: &ExecutionChange<'_, '_>, action: &Action) -> Result<(), Refusal> {
    let id = action.id;
    match passage(change, action) {
        Passage::Open => Ok(()),
        Passage::Waits => {
            let detail = format!("action `{id}` has no approval that stands; approve its workflow first");
            Err(Refusal::new(Code::ApprovalMissing, detail))
        }
        Passage::Late => {
            let detail = format!("the approval of action `{id}` is over; propose its workflow again");
            Err(Refusal::new(Code::ApprovalExpired, detail))
        }
        Passage::Ended => {
            let detail = format!("the workflow of action `{id}` has ended; propose it again");
            Err(Refusal::new(Code::StatusConflict, detail))
        }
    }
}

/// A plan that runs needs a decision again. Its queued actions leave their queues.
pub(crate) fn wait_for_approval(change: &mut ExecutionChange<'_, '_>, mut plan: PlanState) {
    let now = change.now();
    if !plan.status.may_become(WorkflowStatus::AwaitingApproval) {
        return;
    }
    plan.ask_for_approval(&change.decider.rules.approval, now);
    let held: Vec<Arc<Action>> = change
        .state
        .queued()
        .filter(|action| needs(plan.id, action))
        .cloned()
        .collect();
    for action in held {
        change.known().queue.leave(&action);
        change.batch().set_aside(action);
    }
    change.put_plan(plan);
}

/// Whether an action runs under this plan.
fn needs(plan: WorkflowId, action: &Action) -> bool {
    plan_of(action) == Some(plan)
}

/// Queued actions of an approved plan join their queues.
pub(crate) fn let_through(change: &mut ExecutionChange<'_, '_>, plan: WorkflowId) {
    if change.state.head.status == ExecutionStatus::Paused {
        return;
    }
    let free: Vec<Arc<Action>> = change
        .state
        .queued()
        .filter(|action| needs(plan, action))
        .cloned()
        .collect();
    for action in free {
        change.known().queue.join(&action);
        change.decider.put_action(action);
    }
}

/// The time that actions waited for a decision about their plan does not count for their deadlines.
pub(crate) fn extend_deadlines(change: &mut ExecutionChange<'_, '_>, plan: &PlanState) {
    let Some(asked_at) = plan.decided.asked_at else {
        return;
    };
    let waited = change.now().since(asked_at);
    let waiting = change.state.open().filter(|action| {
        needs(plan.id, action) && action.status != Status::Running && action.body.deadline_at.is_some()
    });
    let waiting: Vec<Action> = waiting.cloned().collect();
    for mut action in waiting {
        action.body.deadline_at = action.body.deadline_at.map(|deadline| deadline.plus(waited));
        let action = Arc::new(action);
        change.state.actions.insert(action.id, Arc::clone(&action));
        change.decider.put_action(action);
    }
}

/// Nobody decided in time, or nothing began in time: the plan ends, with what runs of it.
pub(crate) fn expire(change: &mut ExecutionChange<'_, '_>, mut plan: PlanState) {
    if plan.become_status(WorkflowStatus::Expired, change.now()).is_err() {
        return;
    }
    change.put_plan(plan.clone());
    end_planned(change, &plan);
}

/// Ends what runs of a plan that is over: its execution, or the one action that it is about.
pub(crate) fn end_planned(change: &mut ExecutionChange<'_, '_>, plan: &PlanState) {
    if plan.is_of_action() {
        end_action(change, plan);
    } else if change.state.head.status.is_open() {
        change.record(&Entry::Plain(What::Cancelled));
        change.close(ExecutionStatus::Cancelled);
    }
}

/// Ends the action that a plan is about. Its machine hears of it as of an action that a person cancelled, with why.
fn end_action(change: &mut ExecutionChange<'_, '_>, plan: &PlanState) {
    // Its end is input, and due timers come before any: they may end it themselves.
    change.fire_due();
    let id = plan.id.action();
    if let (Some(error), Some(action)) = (error_of(plan), change.state.actions.get_mut(&id)) {
        Arc::make_mut(action).body.last_error = Some(error);
    }
    let end = change.cancel_one(id, CancelledBy::Person);
    if let Some(end) = end.filter(|end| !change.is_superseded(end)) {
        change.feed_end(end);
    }
}

/// Why an action ended with its plan.
fn error_of(plan: &PlanState) -> Option<ActionError> {
    match (plan.status, &plan.decided.decisions.rejected) {
        (WorkflowStatus::Rejected, Some(refusal)) => {
            let why = refusal.comment.as_deref().unwrap_or_default();
            Some(ActionError::new(
                kind::REJECTED,
                format!("`{}` rejected it: {why}", refusal.by),
            ))
        }
        (WorkflowStatus::Expired, _) => Some(ActionError::new(
            kind::EXPIRED,
            "the time to approve it, or to begin, is over",
        )),
        _ => None,
    }
}

/// Brings the plans of an execution up to what happened to it.
pub(crate) fn follow_plans(change: &mut ExecutionChange<'_, '_>) {
    if change.state.plans.is_empty() {
        return;
    }
    let now = change.now();
    let plans: Vec<PlanState> = change.state.plans.values().cloned().collect();
    for mut plan in plans {
        let to = if plan.is_of_action() {
            status_of_action(change, &plan)
        } else {
            status_of_workflow(change, &plan)
        };
        // Where there is no arrow, a decision about the plan came before what happened.
        let from = plan.status;
        if to != from && plan.become_status(to, now).is_ok() {
            let id = plan.id;
            change.put_plan(plan);
            if from == WorkflowStatus::Failed {
                // Steps beside the failed one were put aside at the gate: it looks at them again.
                let_through(change, id);
            }
        }
    }
    // A plan of an action is kept as long as that is open.
    let ExecutionState { plans, actions, .. } = &mut *change.state;
    plans.retain(|id, plan| !plan.is_of_action() || actions.contains_key(&id.action()));
}

/// How a workflow stands, by its machine.
fn status_of_workflow(change: &ExecutionChange<'_, '_>, plan: &PlanState) -> WorkflowStatus {
    let configuration = change.machine.configuration(&change.state.execution.active);
    match (change.state.head.status, WorkflowPhase::of(&plan.plan, &configuration)) {
        (ExecutionStatus::Cancelled, _) => WorkflowStatus::Cancelled,
        (ExecutionStatus::Failed, _) | (_, WorkflowPhase::Compensated) => WorkflowStatus::Failed,
        (ExecutionStatus::Completed, _) | (_, WorkflowPhase::Completed) => WorkflowStatus::Completed,
        // The next compensation waits for one that did not succeed.
        (_, WorkflowPhase::Compensating) if change.state.open().next().is_none() => WorkflowStatus::Failed,
        (_, WorkflowPhase::Failed) if !is_retrying(change, plan, &configuration) => WorkflowStatus::Failed,
        _ if plan.status == WorkflowStatus::AwaitingApproval => plan.status,
        _ => WorkflowStatus::InProgress,
    }
}

/// Whether a step that failed has an open action again: somebody retried its dead letter.
fn is_retrying(change: &ExecutionChange<'_, '_>, plan: &PlanState, configuration: &[String]) -> bool {
    let failed =
        plan.plan.steps.iter().filter(|step| {
            !step.continue_on_error && StepPhase::of(&step.name, configuration) == Some(StepPhase::Failed)
        });
    let mut failed = failed.map(|step| change.state.has_open(&step.name));
    failed.any(|is_open| is_open)
}

/// How the plan of one action stands, by its action.
fn status_of_action(change: &ExecutionChange<'_, '_>, plan: &PlanState) -> WorkflowStatus {
    let id = plan.id.action();
    let action = change.state.actions.get(&id).map(AsRef::as_ref);
    let ended = || change.decider.batch.action(id);
    match action.or_else(ended).map(|action| action.status) {
        Some(Status::Succeeded) => WorkflowStatus::Completed,
        Some(Status::Dead | Status::Archived) => WorkflowStatus::Failed,
        Some(Status::Cancelled | Status::Skipped) => WorkflowStatus::Cancelled,
        Some(_) if plan.status == WorkflowStatus::Failed => WorkflowStatus::InProgress,
        None | Some(_) => plan.status,
    }
}

/// When a follow-up was due: a step with a due time, or one that waits for such a step. `validFor` counts from then.
fn put_off(plan: &PlanState, action: &Action) -> Option<Timestamp> {
    let step = plan.plan.step(&action.action_id)?;
    if plan.is_of_action() {
        return step.scheduled_at;
    }
    plan.plan.is_follow_up(step).then_some(action.created_at)
}
