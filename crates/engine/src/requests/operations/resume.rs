//! Resuming a failed workflow: the dead letters of its steps are retried as they are. Steps that succeeded never run again.

use serde_json::json;
use sprag_core::access::{Caller, Role};
use sprag_core::action::Status;
use sprag_core::ids::{ActionId, WorkflowId};
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::{OnFailure, WorkflowStatus};

use super::super::audit::Audit;
use super::super::dead_letters::retry_dead;
use super::super::{Code, Refusal, Request, RetryDead, Route, Subject};
use super::{WorkflowChanged, conflict, needs_role, plan_status};
use crate::decide::plans::PlanState;
use crate::decide::{Decider, Reads};

/// Dead letters that are retried at once: more than a workflow has steps.
pub const RESUMED_MAX: usize = 128;

/// Continue a failed workflow from the steps that failed.
#[derive(Clone, Debug)]
pub struct ResumeWorkflow {
    /// Which.
    pub id: WorkflowId,
    /// The dead letters of its steps, as they are stored.
    pub dead: Vec<ActionId>,
    /// Why.
    pub reason: String,
    /// Who resumes it.
    pub caller: Box<Caller>,
}

impl Request for ResumeWorkflow {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "resume-workflow";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ResumeWorkflow, |request| request.id.to_string())
            .because(|request| Some(&request.reason))
            .changing(|request, decider, _| plan_status(decider, request.id)),
    );

    fn route(&self) -> Route {
        Route::Slot(self.id.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.plan(self.id);
        for id in &self.dead {
            reads.action(*id);
        }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({"reason": self.reason}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        needs_role(&self.caller, Role::Operator)?;
        let plan = decider.plan(self.id)?;
        refuse_compensated(&plan)?;
        if plan.status != WorkflowStatus::Failed {
            return Err(conflict(&plan, "resumed", "failed"));
        }
        let dead = self.dead_letters(decider);
        if dead.is_empty() {
            let detail = format!(
                "workflow `{}` has no dead letter to retry; look at its execution",
                self.id
            );
            return Err(Refusal::new(Code::StatusConflict, detail));
        }
        self.refuse_unrendered(decider, &dead)?;
        for id in dead {
            retry_dead(decider, &RetryDead::as_is(id))?;
        }
        let mut plan = decider.plan(self.id)?;
        plan.note("resumed", &self.caller.principal, &self.reason, decider.now());
        let changed = WorkflowChanged::of(&plan);
        super::decide::with_execution(decider, plan, |_| {})?;
        Ok(changed)
    }
}

impl ResumeWorkflow {
    /// All of the dead letters are retried, or none: one that has no configuration cannot be retried as it is.
    fn refuse_unrendered(&self, decider: &Decider<'_>, dead: &[ActionId]) -> Result<(), Refusal> {
        let has_none = |id: &&ActionId| {
            let action = decider.find_action(**id);
            action.is_none_or(|action| decider.config_sent(&action).is_none())
        };
        let Some(id) = dead.iter().find(has_none) else {
            return Ok(());
        };
        let detail = format!(
            "dead letter `{id}` of workflow `{}` has no configuration, because it could not be rendered; propose the workflow again",
            self.id
        );
        Err(Refusal::new(Code::StatusConflict, detail))
    }

    /// Those of the dead letters that are this workflow's, and dead as of this batch.
    fn dead_letters(&self, decider: &Decider<'_>) -> Vec<ActionId> {
        let of_workflow = |id: &&ActionId| {
            let action = decider.find_action(**id);
            action.is_some_and(|action| action.origin.execution == self.id.execution() && action.status == Status::Dead)
        };
        self.dead
            .iter()
            .filter(of_workflow)
            .take(RESUMED_MAX)
            .copied()
            .collect()
    }
}

/// What was compensated is not there any more: nothing can continue on it.
pub(in crate::requests) fn refuse_compensated(plan: &PlanState) -> Result<(), Refusal> {
    if plan.plan.on_failure != OnFailure::Compensate {
        return Ok(());
    }
    let detail = format!(
        "workflow `{}` takes back what it did when it fails; propose it again",
        plan.id
    );
    Err(Refusal::new(Code::StatusConflict, detail))
}
