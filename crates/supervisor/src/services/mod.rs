//! `services.yaml`: which processes there are, and what must hold between them.
//!
//! Everything wrong in a file is found in one run, each with its place and its remedy; a file with anything
//! wrong starts nothing. Relative paths in it begin at its folder. Nothing here acts.

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
