//! Questions about plans.

use sprag_core::ids::WorkflowId;
use sprag_core::operation::WorkflowStatus;
use sprag_core::time::Timestamp;

use crate::page::Page;
use crate::records::Plan;

/// A plan that expires unless somebody decides about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuePlan {
    /// Which.
    pub plan: WorkflowId,
    /// When it expires.
    pub decide_by: Timestamp,
}

/// How many open plans of a principal are looked at: the newest.
pub const OPEN_PLANS_MAX: usize = 1_000;

/// The open plans of a principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposals {
    /// Who.
    pub proposer: String,
    /// The newest first, up to [`OPEN_PLANS_MAX`].
    pub open: Vec<OpenPlan>,
}

/// A plan that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPlan {
    /// Which.
    pub plan: WorkflowId,
    /// Its status.
    pub status: WorkflowStatus,
    /// The same for plans that differ in nothing but their ids and times.
    pub content: [u8; 32],
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
    pub status: Option<WorkflowStatus>,
    /// Proposed by this principal.
    pub proposer: Option<String>,
    /// With this reference.
    pub ticket: Option<String>,
    /// Of this operation or workflow.
    pub name: Option<String>,
    /// Which page.
    pub page: Page<WorkflowId>,
}
