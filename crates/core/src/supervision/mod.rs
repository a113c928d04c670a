//! The arithmetic of supervision: when to restart, when to rest, when to give up, how long a stop may take.
//!
//! Pure: times come in, decisions go out as data, nothing sleeps. Every wait is a due time that the next tick looks at.
//! Instants never leave the process: what is kept is kept as ages ([`restart::Saved`]), so a clock that is set between
//! two lives moves no window.

pub mod breaker;
pub mod budget;
pub mod rest;
pub mod restart;
pub mod shutdown;
pub mod window;

pub use breaker::Breaker;
pub use budget::RestartBudget;
pub use rest::Rest;
pub use restart::{Circuit, Permit, RestartEvent, RestartLimits, RestartMachine};
pub use shutdown::{ShutdownFault, ShutdownPlan};
pub use window::Window;

#[cfg(test)]
mod properties;
