//! The executor: runs the actions of workers, one per worker, with the retries of their options. No caller waits for
//! it.
//!
//! The executor takes or refuses a worker's slot in one step, and a refusal names the action in the slot. So it can
//! never accept a second action. An action has a generation: the executor counts and drops late results of an abandoned
//! one. Time is an argument of every call. Every tick calls [`Executor::scan`]. The scan takes results, cancels
//! attempts that took too long, warns once about attempts that ignore their cancellation, abandons them in the end, and
//! starts due retries.

mod attempt;
mod event;
mod options;
mod service;
mod settle;
mod slot;
mod stop;
#[cfg(test)]
mod tests;

pub use event::{Attempted, Event, ExecutorCounts};
pub use options::{ABANDON_FACTOR, ExecutorOptions, Marks, NoMarks, STOP_BOUND_MILLIS, WARN_FACTOR, class};
pub use service::{CancelReason, Executor, Refused};
pub use stop::Stopped;
