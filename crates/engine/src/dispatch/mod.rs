//! The dispatcher: which queued action starts next.
//!
//! Ready work stands in lines; a line that lacks a permit is parked under what it lacks and costs nothing until that
//! is freed. Of the lines that may start, the highest priority goes first, equals take turns. Everything here is
//! derived from stored actions and running attempts: it is rebuilt on start and never written.

mod circuit;
mod dispatcher;
mod homes;
mod limits;
mod line;
mod permits;
mod polls;
mod rate;
mod recent;
mod shards;
mod statements;
mod status;

pub use circuit::CircuitOptions;
pub(crate) use dispatcher::Dispatcher;
pub(crate) use line::LINE_MAX;
pub use permits::Caps;
pub use polls::PollId;
pub(crate) use status::line_named;
