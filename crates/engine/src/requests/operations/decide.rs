//! What people decide about a plan: approve it, reject it, revoke its approval. Each is one transaction, with what follows.

use serde_json::json;
use sprag_core::access::{Caller, Role};
use sprag_core::ids::WorkflowId;
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::WorkflowStatus;
use sprag_core::operation::approval::{ApprovalError, ApprovalVerdict, Approver, Circumstances, Refusal as Against};

use super::super::audit::Audit;
use super::super::{Code, Refusal, Request, Route, Subject};
use super::apply::applies_documents;
use super::start::run;
use super::{WorkflowChanged, conflict, needs_role, plan_status};
use crate::decide::gate;
use crate::decide::plans::PlanState;
use crate::decide::{Decider, Reads};

/// Approve a plan.
#[derive(Clone, Debug)]
pub struct Approve {
    /// Which.
    pub id: WorkflowId,
    /// The digest that the approver read, in hexadecimal digits.
    pub digest: String,
    /// What the approver says.
    pub comment: Option<String>,
    /// Who approves.
    pub caller: Box<Caller>,
}

/// Reject a plan: it never runs.
#[derive(Clone, Debug)]
pub struct Reject {
    /// Which.
    pub id: WorkflowId,
    /// Why.
    pub comment: String,
    /// Who rejects.
    pub caller: Box<Caller>,
}

/// Take back the approval of a plan: what has not begun does not begin.
#[derive(Clone, Debug)]
pub struct Revoke {
    /// Which.
    pub id: WorkflowId,
    /// Why.
    pub comment: String,
    /// Who revokes.
    pub caller: Box<Caller>,
}

impl Request for Approve {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "approve";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ApproveWorkflow, |request| request.id.to_string())
            .because(|request| request.comment.as_deref())
            .changing(|request, decider, _| plan_status(decider, request.id)),
    );

    fn route(&self) -> Route {
        Route::Slot(self.id.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        if reads.plan(self.id).is_some_and(|plan| applies_documents(&plan.plan)) {
            reads.catalog();
        }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({"digest": self.digest, "comment": self.comment}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut plan = decider.plan(self.id)?;
        if plan.status == WorkflowStatus::Failed {
            // It waits for nobody, so no time to decide has begun before.
            plan.decided.asked_at = Some(decider.now());
        }
        let admitted = admit(decider, &plan, self);
        match plan.status {
            WorkflowStatus::AwaitingApproval => {}
            // Its approval was revoked after a step failed: it can be resumed once it is approved again.
            WorkflowStatus::Failed if !stands(decider, &plan) => {}
            WorkflowStatus::Expired => return Err(expired(&plan)),
            // Who approved already has nothing to add; another digest is another plan, whatever the status.
            _ => {
                let is_same = |error: &ApprovalError| matches!(error, ApprovalError::PlanChanged { .. });
                return match admitted {
                    Err(error) if is_same(&error) => Err(refusal(&plan, &error)),
                    _ => Err(conflict(&plan, "approved", "awaiting_approval")),
                };
            }
        }
        match admitted {
            Ok(approval) => plan.decided.decisions.given.push(approval),
            Err(ApprovalError::Twice { .. }) => return Ok(WorkflowChanged::of(&plan)),
            Err(error) => return Err(refusal(&plan, &error)),
        }
        plan.updated_at = decider.now();
        let verdict = plan.verdict(
            &decider.rules.approval,
            &decider.known.control.tokens,
            decider.now(),
            None,
        );
        let changed = WorkflowChanged::of(&plan);
        match verdict {
            ApprovalVerdict::Approved { .. } | ApprovalVerdict::NotNeeded => approved(decider, plan)?,
            _ => write(decider, plan)?,
        }
        Ok(changed)
    }
}

fn admit(
    decider: &Decider<'_>,
    plan: &PlanState,
    approve: &Approve,
) -> Result<sprag_core::operation::approval::Approval, ApprovalError> {
    let token = approve.caller.token.map(|token| token.to_string());
    let approver = Approver {
        by: &approve.caller.principal,
        roles: &approve.caller.roles,
        token: token.as_deref(),
        digest: &approve.digest,
        comment: approve.comment.as_deref(),
    };
    let around = Circumstances {
        policy: &decider.rules.approval,
        now: decider.now(),
        due: None,
        is_token_revoked: &|token| decider.known.control.tokens.is_revoked(token),
    };
    plan.decided.decisions.admit(&plan.risk(), &approver, &around)
}

/// Whether a plan has the approval that it needs.
fn stands(decider: &Decider<'_>, plan: &PlanState) -> bool {
    let verdict = plan.verdict(
        &decider.rules.approval,
        &decider.known.control.tokens,
        decider.now(),
        None,
    );
    matches!(verdict, ApprovalVerdict::Approved { .. } | ApprovalVerdict::NotNeeded)
}

/// A plan that is approved begins, or continues where its approval was revoked.
fn approved(decider: &mut Decider<'_>, mut plan: PlanState) -> Result<(), Refusal> {
    if plan.status == WorkflowStatus::Failed {
        // Steps beside the failed one continue.
        let id = plan.id;
        return with_execution(decider, plan, move |change| gate::let_through(change, id));
    }
    if plan.is_of_action() || plan.has_started() {
        let now = decider.now();
        plan.become_status(WorkflowStatus::InProgress, now)
            .map_err(|error| Refusal::new(Code::StatusConflict, error.to_string()))?;
        let approved = plan.clone();
        return with_execution(decider, plan, move |change| {
            gate::extend_deadlines(change, &approved);
            gate::let_through(change, approved.id);
        });
    }
    run(decider, plan)
}

/// Writes a plan where it is.
pub(super) fn write(decider: &mut Decider<'_>, plan: PlanState) -> Result<(), Refusal> {
    if plan.is_of_action() || plan.has_started() {
        return with_execution(decider, plan, |_| {});
    }
    decider.put_plan(plan);
    Ok(())
}

/// Writes a plan that has an execution, and changes that.
pub(super) fn with_execution(
    decider: &mut Decider<'_>,
    plan: PlanState,
    act: impl FnOnce(&mut crate::decide::ExecutionChange<'_, '_>),
) -> Result<(), Refusal> {
    let execution = execution_of(decider, &plan)?;
    decider.change(execution, |change| {
        change.put_plan(plan);
        act(change);
    })
}

/// The execution that a plan is about.
pub(super) fn execution_of(decider: &Decider<'_>, plan: &PlanState) -> Result<sprag_core::ids::ExecutionId, Refusal> {
    if !plan.is_of_action() {
        return Ok(plan.id.execution());
    }
    let id = plan.id.action();
    let action = decider.find_action(id);
    let unknown = || Refusal::new(Code::ActionUnknown, format!("there is no action `{id}`"));
    Ok(action.ok_or_else(unknown)?.origin.execution)
}

fn expired(plan: &PlanState) -> Refusal {
    let detail = format!("the time to approve workflow `{}` is over; propose it again", plan.id);
    Refusal::new(Code::ApprovalExpired, detail)
}

fn refusal(plan: &PlanState, error: &ApprovalError) -> Refusal {
    let code = match error {
        ApprovalError::PlanChanged { .. } => Code::PlanChanged,
        ApprovalError::SelfApproval { .. } => Code::SelfApproval,
        ApprovalError::RoleMissing { .. } => Code::RoleMissing,
        ApprovalError::Expired => Code::ApprovalExpired,
        ApprovalError::Rejected | ApprovalError::Twice { .. } | ApprovalError::NotNeeded => Code::StatusConflict,
    };
    Refusal::new(code, format!("workflow `{}`: {error}", plan.id))
}

impl Request for Reject {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "reject";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::RejectWorkflow, |request| request.id.to_string())
            .because(|request| Some(&request.comment))
            .changing(|request, decider, _| plan_status(decider, request.id)),
    );

    fn route(&self) -> Route {
        Route::Slot(self.id.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.plan(self.id);
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({"comment": self.comment}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        needs_role(&self.caller, Role::Approver)?;
        let mut plan = decider.plan(self.id)?;
        if plan.status != WorkflowStatus::AwaitingApproval {
            return Err(conflict(&plan, "rejected", "awaiting_approval"));
        }
        let now = decider.now();
        plan.decided.decisions.rejected = Some(against(&self.caller, &self.comment, decider));
        plan.note("rejected", &self.caller.principal, &self.comment, now);
        plan.become_status(WorkflowStatus::Rejected, now)
            .map_err(|error| Refusal::new(Code::StatusConflict, error.to_string()))?;
        let changed = WorkflowChanged::of(&plan);
        end(decider, plan)?;
        Ok(changed)
    }
}

/// Writes a plan that is over, and ends what runs of it.
pub(super) fn end(decider: &mut Decider<'_>, plan: PlanState) -> Result<(), Refusal> {
    if plan.is_of_action() || plan.has_started() {
        return with_execution(decider, plan.clone(), |change| gate::end_planned(change, &plan));
    }
    decider.put_plan(plan);
    Ok(())
}

fn against(caller: &Caller, comment: &str, decider: &Decider<'_>) -> Against {
    Against {
        by: caller.principal.to_string(),
        at: decider.now(),
        comment: Some(comment.to_owned()),
    }
}

impl Request for Revoke {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "revoke";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::RevokeWorkflow, |request| request.id.to_string())
            .because(|request| Some(&request.comment))
            .changing(|request, decider, _| plan_status(decider, request.id)),
    );

    fn route(&self) -> Route {
        Route::Slot(self.id.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.plan(self.id);
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({"comment": self.comment}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        needs_role(&self.caller, Role::Approver)?;
        let mut plan = decider.plan(self.id)?;
        let has_approvals = plan.decided.decisions.standing().next().is_some();
        let is_open = matches!(
            plan.status,
            WorkflowStatus::AwaitingApproval | WorkflowStatus::InProgress | WorkflowStatus::Failed
        );
        if !is_open || !has_approvals {
            return Err(conflict(&plan, "revoked", "approved and not over"));
        }
        plan.decided.decisions.revoked = Some(against(&self.caller, &self.comment, decider));
        plan.note("revoked", &self.caller.principal, &self.comment, decider.now());
        let changed = WorkflowChanged::of(&plan);
        if plan.status == WorkflowStatus::InProgress {
            with_execution(decider, plan.clone(), |change| gate::wait_for_approval(change, plan))?;
        } else {
            write(decider, plan)?;
        }
        Ok(changed)
    }
}
