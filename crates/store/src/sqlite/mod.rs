//! The `SQLite` backend: one file, one shard, one writer, a few readers.
//!
//! [`open()`] is the only way in. It holds the file's lock for as long as the lane or a reader lives, so a second
//! process never writes beside this one. A commit returns once it is on disk.

mod actions;
mod apply;
mod audit;
mod audit_file;
mod backup;
mod bulk;
mod catalog;
mod columns;
mod condition;
mod counts;
mod errors;
mod executions;
mod facts;
mod filesystem;
mod filter;
mod history;
mod idempotency;
mod identity;
mod inbox;
mod jobs;
mod keeper;
mod letters;
mod lives;
mod lock;
mod lookup;
mod machines;
mod mark;
pub(crate) mod migrations;
mod moved;
mod open;
mod open_error;
mod own;
mod plans;
mod reader;
mod receipts;
mod restore;
mod retention;
mod search;
mod shards;
mod source;
mod timers;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use audit_file::AuditFile;
pub use migrations::{HEADER_BYTES, Migration, Schema, is_backup};
pub(crate) use moved::MoveRecord;
pub use open::{Options, Store, open, open_moved, open_without_log};
pub use open_error::OpenError;
pub use own::OwnFile;
pub use reader::{ReadConnection, ReadPool};
pub use restore::{Existing, Restore, RestoreError, Restoring, restore};
pub(crate) use source::Source;
pub use writer::Writer;
