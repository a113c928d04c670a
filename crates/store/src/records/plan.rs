//! Plans: what was proposed, word for word, and what has been decided about it.
//!
//! What was proposed never changes: a store keeps the first document of a plan, whatever is put later.

use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::time::Timestamp;

use super::Json;

/// What the names of machines begin with that were made of plans. No other machine has such a name.
pub const WORKFLOW_MACHINES: &str = "workflow/";

/// The name of the machine that was made of the plan which this execution runs.
pub fn workflow_machine(id: ExecutionId) -> String {
    format!("{WORKFLOW_MACHINES}{id}")
}

/// The status of a plan. The numbers are stored: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PlanStatus {
    /// Accepted, and not looked at yet.
    Pending = 0,
    /// Waits for a person.
    AwaitingApproval = 1,
    /// Its execution runs.
    InProgress = 2,
    /// Every step succeeded.
    Completed = 3,
    /// A step failed; a person may resume it.
    Failed = 4,
    /// An operator ended it.
    Cancelled = 5,
    /// A person said no.
    Rejected = 6,
    /// Nobody decided in time.
    Expired = 7,
}

impl PlanStatus {
    /// All of them, by number.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::AwaitingApproval,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Rejected,
        Self::Expired,
    ];

    /// Whether it may still run by itself.
    pub fn is_open(self) -> bool {
        self <= Self::InProgress
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AwaitingApproval => "awaiting_approval",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

/// A plan: of a workflow, or of one action of a machine that needs approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its id: that of the execution which runs it, or of the action.
    pub id: WorkflowId,
    /// SHA-256 of the document. Never changes.
    pub digest: [u8; 32],
    /// The same for plans that differ in nothing but their ids and times. Never changes.
    pub content: [u8; 32],
    /// The name of the operation or workflow. Never changes.
    pub name: String,
    /// Who proposed it. Never changes.
    pub proposer: String,
    /// The caller's own reference. Never changes.
    pub ticket: Option<String>,
    /// The number of its risk, higher is riskier. Never changes.
    pub risk: u8,
    /// The number of its urgency: the most urgent is 0. Never changes.
    pub urgency: u8,
    /// When it was proposed: the instant of its id. Never changes.
    pub created_at: Timestamp,
    /// The canonical plan. Never changes.
    pub document: Json,
    /// Its status.
    pub status: PlanStatus,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it expires unless somebody decides before.
    pub decide_by: Option<Timestamp>,
    /// What has been decided: approvals, and the like.
    pub body: Json,
}
