//! The lane: one writer that decides, remembers, and hands due work on. The heart of the engine.

mod alerts;
mod away;
mod batch;
mod cache;
mod chores;
mod closed;
mod commit;
mod held;
mod homes;
mod jobs;
mod leases;
mod life;
mod log;
mod machines;
mod owned;
mod recovery;
mod refused;
mod schedules;
mod shards;
mod tick;
mod wants;

pub use batch::Change;
pub(crate) use batch::{Batch, Write};
pub(crate) use commit::may_overlap;
pub use held::{Committer, Desk, Work, Writing};
pub(crate) use log::{LogEntry, log_durable};
pub(crate) use machines::compile;
pub use owned::Tenure;
pub(crate) use shards::elsewhere;
pub use shards::slot_of;
pub(crate) use tick::damaged;
pub use tick::{Fatal, Lane, Parts, Publish};
