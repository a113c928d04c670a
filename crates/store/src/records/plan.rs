//! Plans: what was proposed, word for word, and what has been decided about it.
//!
//! What was proposed never changes: a store keeps the first document of a plan, whatever is put later.

use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::operation::{WorkflowStatus, machine_name};
use sprag_core::time::Timestamp;

use super::Json;

/// The name of the machine that was made of the plan which this execution runs.
pub fn workflow_machine(id: ExecutionId) -> String {
    machine_name(&WorkflowId::from(id).to_string())
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
    pub status: WorkflowStatus,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it expires unless somebody decides before.
    pub decide_by: Option<Timestamp>,
    /// What has been decided: approvals, and the like.
    pub body: Json,
}
