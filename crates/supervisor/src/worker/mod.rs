//! The types around a worker: its trait, its actions, its children's specs, its snapshot, its registration.

pub(crate) mod action;
pub(crate) mod child;
mod definition;
pub(crate) mod document;
pub(crate) mod erased;
pub(crate) mod registry;
pub(crate) mod snapshot;

pub use definition::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};
