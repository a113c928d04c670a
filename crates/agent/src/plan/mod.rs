//! Load plans: what agents do, how much of it, for how long, and when a run counts as failed.
//!
//! A plan is YAML or JSON. Everything wrong in it is found in one run. The controller and each agent read the same text, so
//! both refuse the same plans.

mod action;
mod check;
mod keys;
mod load;
mod model;
mod share;
mod threshold;
mod written;

#[cfg(test)]
mod tests;

pub use load::{Loaded, load, load_with};
pub use model::{ActionCall, AgentLoss, HttpCall, MachineStart, Model, Phase, Plan, Protocol, Scenario, Workload};
pub use share::Share;
pub use threshold::{Bound, Limit, Measure, Threshold};
pub use written::{ReadFile, with_target};
