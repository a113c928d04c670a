//! The `PostgreSQL` backend: one database, many shards and nodes, a writer per lane, a few readers.
//!
//! [`open()`] is the only way in. A commit is one transaction, sent whole in one flush and answered once it is durable; its
//! first statement holds the fences, so it lands only while the lane owns what it writes to. A connection that is lost is
//! made anew by the next question; whether a commit that was under way has landed is read back, never guessed.

mod actions;
mod address;
mod ahead;
mod audit;
mod catalog;
mod columns;
mod commit;
mod control;
mod counts;
mod errors;
mod executions;
mod history;
mod idempotency;
mod inbox;
mod intake;
mod jobs;
mod lanes;
mod letters;
mod link;
mod lookup;
mod machines;
mod migrations;
mod nodes;
mod open;
mod open_error;
mod part;
mod plans;
mod reader;
mod receipts;
mod retention;
mod rows;
mod search;
mod server;
mod session;
mod shards;
mod timers;
mod tls;
mod writer;

#[cfg(test)]
mod tests;

pub use address::{Address, AddressError};
pub(crate) use intake::Intake;
pub use nodes::Members;
pub use open::{Options, SHARDS, SHARDS_MAX, Store, open};
pub use open_error::OpenError;
pub use reader::{Pool, PooledReader};
pub use server::Unsuitable;
pub use writer::Writer;
