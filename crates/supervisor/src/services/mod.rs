//! `services.yaml`: the services, and the rules between them.
//!
//! One run finds every fault in a file, each with its place and its remedy. A file with a fault starts nothing.
//! Relative paths start at the folder of the file. This module only reads.

mod check;
mod keys;
mod load;
mod model;
mod parts;
mod plan;
mod probes;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use load::read_service;
pub use load::{Loaded, load};
pub use model::{
    Condition, Limits, LogPolicy, Observe, ObserveSource, Probe, ProbeKind, Restart, Service, ServiceRule,
    ServicesFile, Stop,
};
pub use plan::{Schedule, budget_of, plan};
