//! Workflows: what may run was approved by others, in time; steps are triggered once, in order; every plan comes to an end
//! or says what it waits for.

use std::collections::BTreeSet;

use serde_json::Value;
use sprag_core::action::{Action, AttemptRecord, Status};
use sprag_core::document::json;
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::operation::approval::{Approval, Decisions};
use sprag_core::operation::{Plan, Risk, WorkflowStatus, is_compensation, is_workflow_machine};
use sprag_core::time::Timestamp;
use sprag_store::records;

use super::Model;
use crate::violation::{Checked, Invariant, Violation, ensure};

/// A plan with what was decided about it.
#[derive(Clone, Debug)]
pub(crate) struct KnownPlan {
    /// As it was last written.
    pub(crate) row: records::Plan,
    /// The plan that was proposed.
    plan: Plan,
    /// What people decided.
    pub(crate) decisions: Decisions,
}

impl KnownPlan {
    fn read(row: &records::Plan) -> Option<Self> {
        let body: Value = serde_json::from_slice(&row.body).ok()?;
        Some(Self {
            plan: Plan::from_canonical(&row.document).ok()?,
            decisions: serde_json::from_value(body.get("decided")?.get("decisions")?.clone()).ok()?,
            row: row.clone(),
        })
    }

    /// Whether people must approve it: nobody declares anything in the simulated catalog.
    fn needs_approval(&self) -> bool {
        self.plan.risk_level >= Risk::High
    }

    /// The approvals that count: of this very plan, since the last revocation, by others than its proposer.
    fn approvals(&self) -> Vec<&Approval> {
        let revoked = self.decisions.revoked.as_ref().map(|revoked| revoked.at);
        let counts = |approval: &&Approval| {
            revoked.is_none_or(|at| approval.at > at)
                && approval.by != self.plan.proposer
                && approval.digest == json::hex(&self.row.digest)
        };
        self.decisions.given.iter().filter(counts).collect()
    }

    fn may_fail(&self, step: &str) -> bool {
        self.plan.step(step).is_some_and(|step| step.continue_on_error)
    }
}

impl Model {
    /// A plan was written: one that was there keeps its document, and moves along the arrows of its lifecycle.
    pub(super) fn read_plan(&mut self, row: &records::Plan) -> Checked {
        let id = row.id;
        let Some(known) = KnownPlan::read(row) else {
            return Err(Violation::new(Invariant::Approved, format!("{id} cannot be read")));
        };
        let is_whole = json::digest(&row.document) == row.digest;
        let old = self.plans.get(&id);
        let is_same = old.is_none_or(|old| old.row.document == row.document);
        ensure(is_whole && is_same, Invariant::Approved, || {
            format!("{id} became another plan")
        })?;
        let asked = |approval: &Approval| self.asked.approve.contains(&(id, approval.by.clone()));
        ensure(known.decisions.given.iter().all(asked), Invariant::Approved, || {
            format!("{id} bears an approval that nobody gave: {:?}", known.decisions.given)
        })?;
        let is_move = match old {
            None => matches!(
                row.status,
                WorkflowStatus::AwaitingApproval | WorkflowStatus::InProgress
            ),
            Some(old) => old.row.status == row.status || leads_to(old.row.status, row.status),
        };
        ensure(is_move, Invariant::Lifecycle, || {
            format!(
                "{id} was {:?} and is {}",
                old.map(|old| old.row.status),
                row.status.word()
            )
        })?;
        self.plans.insert(id, known);
        // Whoever was put aside for people joins its line anew.
        let of_plan = self.actions.values_mut();
        for action in of_plan.filter(|known| known.action.origin.execution == id.execution()) {
            action.passed_in = None;
        }
        Ok(())
    }

    /// A step is triggered once.
    pub(super) fn check_triggered_once(&self, action: &Action) -> Checked {
        let is_again = |other: &Action| {
            other.origin.execution == action.origin.execution
                && other.action_id == action.action_id
                && other.id != action.id
        };
        let is_step = is_workflow_machine(&action.origin.machine);
        let again = is_step && self.actions.values().any(|known| is_again(&known.action));
        ensure(!again, Invariant::StepOrder, || {
            format!(
                "step `{}` of {} was triggered again",
                action.action_id, action.origin.execution
            )
        })
    }

    /// An attempt of a step began: its plan may run, and what comes before the step has ended.
    pub(super) fn check_step(&self, action: &Action, begun: &AttemptRecord) -> Checked {
        if !is_workflow_machine(&action.origin.machine) {
            return Ok(());
        }
        let id = WorkflowId::from(action.origin.execution);
        let Some(known) = self.plans.get(&id) else {
            return Err(Violation::new(Invariant::Approved, format!("{id} is no plan and runs")));
        };
        let first = action.body.attempts.first().unwrap_or(begun);
        self.check_approved(known, action, first.start_time)
    }

    /// What comes before a step that began has ended, once all of a commit is read.
    pub(super) fn check_steps(&self, begun: &[ActionId]) -> Checked {
        let actions = begun
            .iter()
            .filter_map(|id| self.actions.get(id))
            .map(|known| &known.action);
        let mut first =
            actions.filter(|action| is_workflow_machine(&action.origin.machine) && action.attempts_made() == 1);
        first.try_for_each(|action| self.check_step_order(action))
    }

    fn check_step_order(&self, action: &Action) -> Checked {
        let id = WorkflowId::from(action.origin.execution);
        let Some(known) = self.plans.get(&id) else {
            return Ok(());
        };
        let ended = |name: &str| self.status_of(action.origin.execution, name);
        if is_compensation(&action.action_id) {
            let undone = action.action_id.trim_start_matches("__undo_");
            return ensure(ended(undone) == Some(Status::Succeeded), Invariant::StepOrder, || {
                format!("{id}: `{undone}` is taken back and is {:?}", ended(undone))
            });
        }
        let before = known
            .plan
            .step(&action.action_id)
            .map(|step| step.depends_on.as_slice());
        let is_there = |name: &String| match ended(name) {
            Some(Status::Succeeded) => true,
            Some(_) => known.may_fail(name),
            None => false,
        };
        ensure(
            before.is_some_and(|before| before.iter().all(is_there)),
            Invariant::StepOrder,
            || format!("{id}: `{}` began before what it depends on", action.action_id),
        )
    }

    /// The plan of a step stands: enough others approved it, in time.
    fn check_approved(&self, known: &KnownPlan, action: &Action, began: Timestamp) -> Checked {
        let id = known.row.id;
        ensure(may_run(known.row.status, action), Invariant::Approved, || {
            format!("{id} is {} and `{}` began", known.row.status.word(), action.action_id)
        })?;
        ensure(self.is_approved(known), Invariant::Approved, || {
            format!(
                "`{}` of {id} began, approvals are {:?}",
                action.action_id, known.decisions
            )
        })?;
        ensure(self.is_in_time(known, action, began), Invariant::Approved, || {
            format!("`{}` of {id} began at {began}, which is too late", action.action_id)
        })
    }

    fn is_approved(&self, known: &KnownPlan) -> bool {
        let principals: BTreeSet<&str> = known.approvals().iter().map(|approval| approval.by.as_str()).collect();
        let quorum = usize::try_from(self.policy.rules.high.quorum).unwrap_or(usize::MAX);
        !known.needs_approval() || principals.len() >= quorum
    }

    /// A step begins within the time that its approval holds. One that was put off, or waited for such a step, counts from
    /// when it was due; what was done is taken back at any time.
    fn is_in_time(&self, known: &KnownPlan, action: &Action, began: Timestamp) -> bool {
        let (Some(length), true) = (self.policy.valid_for, known.needs_approval()) else {
            return true;
        };
        let step = known.plan.step(&action.action_id);
        let is_put_off = step.is_some_and(|step| known.plan.is_follow_up(step));
        let approved = known.approvals().iter().map(|approval| approval.at).max();
        let from = approved.max(is_put_off.then_some(action.created_at));
        is_compensation(&action.action_id) || from.is_some_and(|from| began <= from.plus(length))
    }

    /// Whether people let an action run, if they have a say in it.
    pub(super) fn may_pass(&self, action: &Action, now: Timestamp) -> bool {
        if !is_workflow_machine(&action.origin.machine) {
            return true;
        }
        let known = self.plans.get(&WorkflowId::from(action.origin.execution));
        let began = action.body.attempts.first().map_or(now, |first| first.start_time);
        known.is_some_and(|known| {
            may_run(known.row.status, action) && self.is_approved(known) && self.is_in_time(known, action, began)
        })
    }

    /// After everything came to rest, a plan has ended, or a dead letter or an action that somebody ended says why not.
    pub(crate) fn check_plans(&self) -> Checked {
        for (id, known) in &self.plans {
            let execution = id.execution();
            let steps = known.plan.steps.iter();
            let mut open = steps.filter(|step| self.status_of(execution, &step.name) != Some(Status::Succeeded));
            let of_plan = || {
                self.actions
                    .values()
                    .filter(|known| known.action.origin.execution == execution)
            };
            let has_failed = || {
                of_plan()
                    .any(|known| matches!(known.action.status, Status::Dead | Status::Cancelled | Status::Archived))
            };
            let is_open = self
                .executions
                .get(&execution)
                .is_some_and(|known| known.status.is_open());
            let is_right = match known.row.status {
                WorkflowStatus::Completed => !is_open && open.all(|step| step.continue_on_error),
                WorkflowStatus::Failed => has_failed(),
                WorkflowStatus::Cancelled | WorkflowStatus::Rejected | WorkflowStatus::Expired => !is_open,
                WorkflowStatus::Pending | WorkflowStatus::AwaitingApproval | WorkflowStatus::InProgress => false,
            };
            ensure(is_right, Invariant::Settles, || {
                format!(
                    "{id} is {} and nothing says why: {:?}",
                    known.row.status.word(),
                    known
                        .plan
                        .steps
                        .iter()
                        .map(|step| (&step.name, self.status_of(execution, &step.name)))
                        .collect::<Vec<_>>()
                )
            })?;
        }
        Ok(())
    }

    /// The dead letters of an execution.
    pub(crate) fn dead_letters_of(&self, execution: ExecutionId) -> Vec<ActionId> {
        let is_dead = |action: &Action| action.origin.execution == execution && action.status == Status::Dead;
        let found = self.actions.iter().filter(|(_, known)| is_dead(&known.action));
        found.map(|(&id, _)| id).collect()
    }

    /// The plans that wait for people, also those of which a step failed before their approval was revoked.
    pub(crate) fn undecided(&self) -> Vec<WorkflowId> {
        let waits = |known: &KnownPlan| match known.row.status {
            WorkflowStatus::AwaitingApproval => true,
            WorkflowStatus::Failed => !self.is_approved(known),
            _ => false,
        };
        self.plans
            .iter()
            .filter(|(_, known)| waits(known))
            .map(|(&id, _)| id)
            .collect()
    }

    fn status_of(&self, execution: ExecutionId, action_id: &str) -> Option<Status> {
        let is_it = |action: &Action| action.origin.execution == execution && action.action_id == action_id;
        let mut found = self.actions.values().map(|known| &known.action);
        found.find(|action| is_it(action)).map(|action| action.status)
    }
}

/// Whether a status leads to another: one commit may hold several decisions.
fn leads_to(from: WorkflowStatus, to: WorkflowStatus) -> bool {
    let mut reached = vec![from];
    let mut looked_at = 0;
    while let Some(&status) = reached.get(looked_at) {
        looked_at += 1;
        let next = WorkflowStatus::ALL.into_iter().filter(|next| status.may_become(*next));
        let new: Vec<WorkflowStatus> = next.filter(|next| !reached.contains(next)).collect();
        reached.extend(new);
    }
    reached.contains(&to)
}

/// Whether an action of a plan with this status may run: in a workflow that completed, a step that was allowed to fail may be
/// tried again.
fn may_run(status: WorkflowStatus, action: &Action) -> bool {
    match status {
        WorkflowStatus::InProgress | WorkflowStatus::Failed => true,
        WorkflowStatus::Completed => action.body.spent > 0,
        _ => false,
    }
}
