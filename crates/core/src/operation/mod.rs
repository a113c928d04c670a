//! Operations: a catalog of what may be proposed, plans that people approve, and machines that run them.
//!
//! Everything here is pure. A proposal and a catalog make a [`Plan`]; approvals and a policy make a verdict; an approved plan
//! makes the definition of a machine, which runs as any other.

pub mod approval;
pub mod builtin;
pub mod canonical;
pub mod catalog;
pub mod change;
pub mod compile;
pub mod definition;
mod keys;
pub mod parameters;
pub mod plan;
pub mod proposal;
pub mod read;
mod references;
pub mod risk;
pub mod status;
mod step_params;
mod steps;

pub use approval::{
    Approval, ApprovalError, ApprovalVerdict, Approver, ApproverRole, Circumstances, Decisions, PlanRisk, Policy,
    Refusal, Rule, Rules,
};
pub use builtin::{BUILTIN_NAMES, BUILTIN_VERSION};
pub use catalog::{Catalog, RESERVED_PARAMETERS, RESERVED_TOOLS, Versioned, tool_name};
pub use change::{Weakening, weakenings};
pub use compile::{StepPhase, WorkflowPhase, compile, is_compensation, is_workflow_machine, machine_name, undo_id};
pub use definition::{
    Body, Compensate, Document, Due, Kind, OnFailure, Operation, StepDocument, Subject, secret_owner,
};
pub use parameters::{Parameter, ParameterFault, ParameterKind, Parameters};
pub use plan::{
    Approvals, Expanded, Plan, PlanChange, PlanError, PlanFacts, PlanHead, PlanOptions, PlanStep, STEPS_MAX,
    StepAction, TriggeredAction, build, compare, machine_principal, propose,
};
pub use proposal::{Proposal, Urgency, Work};
pub use read::{CatalogFile, StoredDocumentError, read_catalog, read_catalog_value, read_stored};
pub use risk::{RISKS, Risk};
pub use status::{IllegalWorkflowMove, WorkflowStatus};
pub use step_params::{Bound, StepParams};

#[cfg(test)]
mod tests;
