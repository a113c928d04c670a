//! Questions about plans.

use sprag_core::ids::WorkflowId;
use sprag_core::time::Timestamp;

use crate::page::Page;
use crate::records::{Plan, PlanStatus};

/// A plan that expires unless somebody decides about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuePlan {
    /// Which.
    pub plan: WorkflowId,
    /// When it expires.
    pub decide_by: Timestamp,
}

/// What a principal has proposed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposals {
    /// Who.
    pub proposer: String,
    /// Of the plan that is asked about.
    pub content: [u8; 32],
    /// How many plans of the principal have not started and are not over.
    pub undecided: u64,
    /// The oldest open plan with that content, whoever proposed it.
    pub same: Option<WorkflowId>,
}

/// The place of a plan among those that wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingPlan {
    /// The most urgent is 0.
    pub urgency: u8,
    /// The older comes first.
    pub plan: WorkflowId,
}

impl WaitingPlan {
    /// The place of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self {
            urgency: plan.urgency,
            plan: plan.id,
        }
    }
}

/// Which plans to list. A field that is not given restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanQuery {
    /// In this status.
    pub status: Option<PlanStatus>,
    /// Proposed by this principal.
    pub proposer: Option<String>,
    /// With this reference.
    pub ticket: Option<String>,
    /// Of this operation or workflow.
    pub name: Option<String>,
    /// Which page.
    pub page: Page<WorkflowId>,
}
