//! Simulation: a machine and events in, the active states after each out. Nothing stored, nothing sent.
//!
//! Exactly one [`Line`] per input, whatever it sets off: timers that an advance passes, ends of actions that were over
//! at once. Actions do nothing: their outcomes are inputs too.

mod input;
mod run;
#[cfg(test)]
mod tests;

pub use input::{InputError, SimInput};
pub use run::{Line, Simulation};
