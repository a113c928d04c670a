//! The queue: which ready action starts next.
//!
//! Ready actions wait in queues by type, limits and destination. A queue that lacks a permit is parked under what it lacks
//! and costs nothing until that is freed. Of the queues that may start, the highest priority goes first, equals take turns.
//! Everything here is derived from stored actions and running attempts: it is rebuilt on start and never written.
//! Switches and overrides, which operators set, are in [`control`].

mod action_queue;
mod circuit;
pub mod control;
mod dispatcher;
mod drain;
mod limits;
mod permits;
mod rate;
mod recent;
mod scope;
mod shards;
mod status;
mod switch;
pub mod tokens;

pub(crate) use self::action_queue::{ActionQueue, LINE_MAX};
pub use self::circuit::CircuitOptions;
pub(crate) use self::dispatcher::Dispatcher;
pub use self::permits::Caps;
pub(crate) use self::permits::{Allowance, Lack};
pub(crate) use self::status::line_named;
