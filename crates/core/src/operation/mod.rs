//! Operations: a catalog of what may be proposed, plans that people approve, and machines that run them.
//!
//! Everything here is pure. A proposal and a catalog make a [`Plan`]; approvals and a policy make a verdict; an approved plan
//! makes the definition of a machine, which runs as any other.

pub mod builtin;
pub mod canonical;
pub mod catalog;
pub mod definition;
mod keys;
pub mod parameters;
pub mod plan;
pub mod proposal;
pub mod read;
mod references;
pub mod risk;
pub mod status;
mod steps;

pub use builtin::{BUILTIN_NAMES, BUILTIN_VERSION};
pub use catalog::{Catalog, Versioned, tool_name};
pub use definition::{
    Body, Compensate, Document, Due, Kind, OnFailure, Operation, StepDocument, Subject, secret_owner,
};
pub use parameters::{Parameter, ParameterFault, ParameterKind, Parameters};
pub use plan::{
    Approvals, Expanded, Plan, PlanChange, PlanError, PlanFacts, PlanOptions, PlanStep, STEPS_MAX, StepAction, build,
    compare, propose,
};
pub use proposal::{Proposal, Urgency, Work};
pub use read::{CatalogFile, StoredDocumentError, read_catalog, read_catalog_value, read_stored};
pub use risk::Risk;
pub use status::{IllegalWorkflowMove, WorkflowStatus};
