//! Tests of machines: what a machine is given, what then happens to it, and what is expected of it.
//!
//! Runs are simulations: nothing is stored, nothing is sent, and time is simulated too.

mod compare;
mod read;
mod run;
#[cfg(test)]
mod tests;

pub use compare::{Mismatch, Report};
pub use read::Scenario;
pub(super) use read::read;
pub use run::run_scenario;
