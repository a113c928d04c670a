//! Taking back what an execution did: the compensations of its actions become a workflow.
//!
//! The workflow is proposed by the principal that asks, and passes the same gate as every other. Its id follows from the
//! execution, so two principals who ask at once get one workflow, and no effect is taken back twice.

use std::collections::BTreeSet;

use serde_json::json;
use sprag_core::access::{Caller, Role};
use sprag_core::ids::{ExecutionId, Slot, WorkflowId, scatter};
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::{Plan, PlanHead, PlanStep, STEPS_MAX, WorkflowStatus};

use super::super::audit::Audit;
use super::super::{Code, Refusal, Request, Route, Subject};
use super::propose::{accept, refuse_risk};
use super::{WorkflowChanged, needs_role};
use crate::decide::plans::PlanState;
use crate::decide::{Decider, Reads};

/// Workflows that take back what one execution did, at most.
const WORKFLOWS_MAX: u64 = 100;

/// Take back what a closed execution did.
#[derive(Clone, Debug)]
pub struct CompensateExecution {
    /// Which.
    pub id: ExecutionId,
    /// Its machine.
    pub machine: String,
    /// The compensations, that of the latest effect first, as they follow from what is stored.
    pub steps: Vec<PlanStep>,
    /// Who asks.
    pub caller: Box<Caller>,
}

impl Request for CompensateExecution {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "compensate";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::CompensateExecution, |request| request.id.to_string())
            .changing(|_, _, changed| changed.map(|changed| changed.id.to_string())),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        let mut ids = self.workflows();
        while ids.next().is_some_and(|id| reads.plan(id).is_some()) {}
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        needs_role(&self.caller, Role::Operator)?;
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for id in self.workflows() {
            let plan = match decider.plan(id) {
                Ok(plan) => plan,
                Err(refusal) if refusal.code == Code::WorkflowUnknown => return self.propose(decider, id, &taken),
                Err(refusal) => return Err(refusal),
            };
            if plan.status.is_open() || plan.status == WorkflowStatus::Failed {
                return Ok(WorkflowChanged::of(&plan));
            }
            if plan.has_started() {
                taken.extend(plan.plan.steps.iter().filter_map(|step| step.compensates.clone()));
            }
        }
        Err(self.nothing("was asked for too often"))
    }
}

impl CompensateExecution {
    /// The ids that its workflows have, in order.
    fn workflows(&self) -> impl Iterator<Item = WorkflowId> + use<> {
        let id = self.id;
        let bytes = id.to_bytes();
        let seed = bytes.iter().fold(0u64, |seed, byte| scatter(seed ^ u64::from(*byte)));
        (0..WORKFLOWS_MAX).map(move |number| WorkflowId::compose(id.at(), Slot::default(), scatter(seed ^ number)))
    }

    fn propose(
        &self,
        decider: &mut Decider<'_>,
        id: WorkflowId,
        taken: &BTreeSet<String>,
    ) -> Result<WorkflowChanged, Refusal> {
        let is_left = |step: &&PlanStep| step.compensates.as_ref().is_none_or(|action| !taken.contains(action));
        let mut steps: Vec<PlanStep> = self.steps.iter().filter(is_left).take(STEPS_MAX).cloned().collect();
        if steps.is_empty() {
            return Err(self.nothing("has no effect to take back"));
        }
        for position in 1..steps.len() {
            let before = steps[position - 1].name.clone();
            steps[position].depends_on.push(before);
        }
        let now = decider.now();
        let reason = self.caller.reason.clone();
        let head = PlanHead {
            id: id.to_string(),
            name: format!("{}/compensate", self.machine),
            description: None,
            reason: reason.unwrap_or_else(|| format!("take back what execution `{}` did", self.id)),
            proposer: self.caller.principal.to_string(),
            execution: Some(self.id.to_string()),
            now,
        };
        let plan = Plan::of_steps(head, steps);
        refuse_risk(&plan, &self.caller)?;
        accept(decider, PlanState::new(id, plan, now))?;
        Ok(WorkflowChanged { id, created: true })
    }

    fn nothing(&self, why: &str) -> Refusal {
        Refusal::new(Code::StatusConflict, format!("execution `{}` {why}", self.id))
    }
}
