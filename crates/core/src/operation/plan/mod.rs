//! Plans: what a proposal comes to once every operation is pinned and every value that is known is rendered.
//!
//! A plan never changes. People approve its digest, and what runs is compiled from the bytes that the digest is of.

mod build;
mod compare;
mod expand;
mod given;
mod model;
mod settle;
mod triggered;

pub use build::{PlanFacts, PlanOptions, STEPS_MAX, build, propose};
pub use compare::{PlanChange, compare};
pub use model::{Approvals, Expanded, Plan, PlanError, PlanStep, StepAction};
pub use triggered::{PlanHead, TriggeredAction, machine_principal};
