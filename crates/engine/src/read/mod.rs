//! Reading: what callers see of committed state, past the lane.
//!
//! Views, lists, history, replay, migration checks, dead letters with their case files, health, and the queue. Nothing here
//! writes.

mod at;
mod audit;
pub(crate) mod cached;
pub(crate) mod case;
pub(crate) mod compensation;
pub(crate) mod divergence;
pub(crate) mod dry_run;
mod find;
pub(crate) mod follow;
pub mod groups;
pub(crate) mod handle;
pub mod health;
pub(crate) mod held;
pub(crate) mod history;
pub(crate) mod lists;
pub(crate) mod lookup;
pub(crate) mod machines;
pub(crate) mod migration;
pub(crate) mod notes;
pub(crate) mod open;
pub mod overview;
pub(crate) mod permits;
pub mod queue;
pub(crate) mod replay;
pub mod restored;
pub(crate) mod scopes;
pub(crate) mod states;
mod timers;
mod tokens;
mod versions;
pub mod view;
pub(crate) mod workflows;
