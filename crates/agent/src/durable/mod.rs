//! A load run as a durable action: the type `load`, whose runner is the controller.
//!
//! So a load has what every action has: kill switches, cancelling, limits, approval, dead letters, history. Live figures are in
//! memory only; the result of the run is that of the attempt. The default of the type is one attempt.

mod config;
mod directory;
mod loads;
mod options;
mod outcome;
mod results;
mod runner;

#[cfg(test)]
mod tests;

pub use config::AGENTS_MAX;
pub use directory::{Directory, DirectoryFull, is_address};
pub use loads::{LiveFigures, Loads};
pub use options::{Options, OptionsError};
pub use outcome::result_in;
pub use runner::LoadRunner;
