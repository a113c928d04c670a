//! What an agent does next: five states, ten transitions, and the deadlines of the run in hand.
//!
//! Pure: the same events at the same times give the same effects. Every deadline is part of its run, so none survives it, and
//! only [`StateLog::transition`] changes the state.

mod event;
mod machine;
mod run;
mod state;

#[cfg(test)]
mod tests;

pub use event::{Busy, ControllerLoss, Effect, Event, Start, TaskEnd, Terminal, UnknownRun};
pub use machine::Lifecycle;
pub use run::{Bounds, RunId};
pub use state::{HISTORY_MAX, IllegalTransition, State, StateLog, Transition};
