//! Simulation: a machine and events in, the active states after each out. Nothing stored, nothing sent.
//!
//! Exactly one [`Line`] per input, whatever it sets off: timers that an advance passes, ends of actions that were over
//! at once. Actions do nothing: their outcomes are inputs too. Everything else goes as in the engine, by the same
//! `step`; whether the variables meet the machine's `input` is the caller's to judge.

mod agenda;
mod input;
mod run;
#[cfg(test)]
mod tests;

pub use input::{InputError, SimInput};
pub use run::{Line, Simulation};
