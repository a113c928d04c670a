//! Cancelling a workflow: one transaction over the plan and every step that has not ended.

use serde_json::json;
use sprag_core::access::{Caller, Role};
use sprag_core::ids::WorkflowId;
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::WorkflowStatus;

use super::super::audit::Audit;
use super::super::{Code, Refusal, Request, Route, Subject};
use super::decide::end;
use super::{WorkflowChanged, conflict, plan_status};
use crate::decide::{Decider, Reads};

/// End a workflow with every step that has not ended. An attempt that runs is asked to stop.
#[derive(Clone, Debug)]
pub struct CancelWorkflow {
    /// Which.
    pub id: WorkflowId,
    /// Why.
    pub reason: String,
    /// Who cancels it.
    pub caller: Box<Caller>,
}

impl Request for CancelWorkflow {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "cancel-workflow";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::CancelWorkflow, |request| request.id.to_string())
            .because(|request| Some(&request.reason))
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
            body: json!({"reason": self.reason}),
        })
    }

    /// Who proposed it may cancel it too, as long as nothing of it has begun.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut plan = decider.plan(self.id)?;
        let is_own = plan.plan.proposer == *self.caller.principal && !plan.has_started();
        if !is_own {
            super::needs_role(&self.caller, Role::Operator)?;
            super::refuse_beyond_scope(&plan.plan, &self.caller)?;
        }
        let changed = WorkflowChanged::of(&plan);
        if plan.status == WorkflowStatus::Cancelled {
            return Ok(changed);
        }
        let now = decider.now();
        if !plan.status.may_become(WorkflowStatus::Cancelled) {
            return Err(conflict(&plan, "cancelled", "open or failed"));
        }
        plan.become_status(WorkflowStatus::Cancelled, now)
            .map_err(|error| Refusal::new(Code::StatusConflict, error.to_string()))?;
        plan.note("cancelled", &self.caller.principal, &self.reason, now);
        end(decider, plan)?;
        Ok(changed)
    }
}
