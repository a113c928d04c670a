//! Scenarios: what a machine is given, what then happens to it, and what is expected of it.
//!
//! A file of scenarios is YAML or JSON. Everything wrong in it is found in one run, with its place; a file with
//! anything wrong runs nothing. Runs are simulations: nothing is stored, nothing is sent, and time is simulated too.

mod compare;
mod file;
mod keys;
mod run;
#[cfg(test)]
mod tests;

pub use compare::{Mismatch, Report};
pub use file::ScenarioFile;
pub use run::run_scenarios;
