//! Load plans: what agents do, how much of it, for how long, and when a run counts as failed.
//!
//! A plan is YAML or JSON. Everything wrong in it is found in one run. The controller and each agent read the same text, so
//! both refuse the same plans.

mod check;
mod keys;
mod load;
mod model;
mod share;
mod threshold;

#[cfg(test)]
mod tests;

pub use load::{Loaded, load};
pub use model::{AgentLoss, HttpCall, MachineStart, Model, Phase, Plan, Workload};
pub use share::Share;
pub use threshold::{Bound, Limit, Measure, Threshold};
