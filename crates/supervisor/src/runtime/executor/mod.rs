//! The executor: actions of workers, one per worker, attempted as their options say, never waited for.
//!
//! A worker's slot is taken or refused in one step, and a refusal names who holds it; so there is no moment in which a
//! second action could be accepted. An action is known by its generation: what an abandoned one returns later is
//! counted and dropped. Time comes in with every call. [`Executor::scan`], called by every tick, takes in what ended,
//! cancels what took too long, warns once of what does not react, gives it up in the end, and starts due retries.

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
