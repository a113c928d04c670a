//! Workflows and approvals.

use sprag_core::ids::WorkflowId;
use sprag_core::operation::WorkflowStatus;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape, text, words};
use crate::handlers::workflows::{Approved, Commented, Proposed, Reasoned};
use crate::request::body::FromFields;

/// The group.
pub(crate) const RESOURCE: &str = "workflows";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one workflow.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<WorkflowId>(), "The workflow's id.")
        .reads()
        .refuses([requests::Code::WorkflowUnknown])
}

/// What changes one workflow.
fn change<B: FromFields>(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .body::<B>()
        .answers::<wire::Workflow>(200, "The workflow.")
        .writes()
        .once()
        .refuses([requests::Code::RoleMissing, requests::Code::StatusConflict])
}

pub(crate) fn list() -> Operation {
    operation("listWorkflows", "List workflows, newest first")
        .query(
            "status",
            words(&WorkflowStatus::ALL.map(WorkflowStatus::word)),
            "Only workflows with this status.",
        )
        .query("proposer", text(), "Only workflows that this principal proposed.")
        .query("ticket", text(), "Only workflows with this reference.")
        .query("name", text(), "Only workflows of this name or operation.")
        .paged()
        .answers::<wire::Page<wire::Workflow>>(200, "The workflows.")
        .reads()
}

pub(crate) fn waiting() -> Operation {
    operation(
        "listApprovals",
        "List the plans that wait for a person, most urgent first",
    )
    .paged()
    .answers::<wire::Page<wire::Workflow>>(200, "The workflows.")
    .reads()
}

pub(crate) fn propose() -> Operation {
    operation(
        "proposeWorkflow",
        "Propose an operation, or a workflow of several steps",
    )
    .body::<Proposed>()
    .answers::<wire::Workflow>(201, "The new workflow: it waits for approval, or runs.")
    .located()
    .answers::<wire::Workflow>(200, "The open workflow that does the same. Nothing changed.")
    .writes()
    .once()
    .refuses([
        requests::Code::DefinitionInvalid,
        requests::Code::ProposalsFull,
        requests::Code::RoleMissing,
        requests::Code::DecisionFailed,
    ])
}

pub(crate) fn show() -> Operation {
    one("showWorkflow", "Show a workflow with its steps").answers::<wire::Workflow>(200, "The workflow.")
}

pub(crate) fn plan() -> Operation {
    one("showPlan", "Show the exact plan, and what differs from the last run")
        .answers::<wire::WorkflowPlan>(200, "The plan.")
}

pub(crate) fn approve() -> Operation {
    change::<Approved>("approveWorkflow", "Approve the plan with this digest").refuses([
        requests::Code::PlanChanged,
        requests::Code::SelfApproval,
        requests::Code::ApprovalExpired,
        requests::Code::DecisionFailed,
    ])
}

pub(crate) fn reject() -> Operation {
    change::<Commented>("rejectWorkflow", "Reject a plan")
}

pub(crate) fn revoke() -> Operation {
    change::<Commented>(
        "revokeApproval",
        "Revoke an approval: what has not begun does not begin",
    )
}

pub(crate) fn cancel() -> Operation {
    change::<Reasoned>("cancelWorkflow", "Cancel a workflow with every step that has not ended")
}

pub(crate) fn resume() -> Operation {
    change::<Reasoned>(
        "resumeWorkflow",
        "Continue a failed workflow from the steps that failed",
    )
    .refuses([requests::Code::ApprovalMissing, requests::Code::ApprovalExpired])
}
