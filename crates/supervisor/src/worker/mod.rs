//! What a worker is, and what belongs to it: its actions, its children's specs, its snapshot, its type.

pub(crate) mod action;
pub(crate) mod child;
mod definition;
pub(crate) mod document;
pub(crate) mod erased;
pub(crate) mod registry;
pub(crate) mod snapshot;

pub use definition::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};
