//! The stored state of workers: identity, desired state, observation, and what must survive a restart.
//!
//! Everything is in memory, as compact JSON text. An unchanged document is not written and causes no delta. With a
//! file, a separate thread writes changes, many workers in one transaction. The tick only sets marks, so it never waits
//! for the disk. A caller that must know that a change is on disk (the start of an action, an operator's command) waits
//! for its [`Durable`]. The thread writes observations later, and everything else at once.

mod cursor;
mod delta;
mod document;
mod durable;
mod error;
mod file;
mod journal;
mod load;
mod record;
mod service;
mod snapshot;
#[cfg(test)]
mod tests;
mod writes;

pub use cursor::{Cursor, ParseCursorError};
pub use delta::{Delta, DeltaKind, PAGE_MAX, Page, StoreOptions};
pub use document::{Change, apply, difference};
pub use durable::{Durable, NotDurable};
pub use error::{Malformed, PutError, StoreError};
pub use record::Part;
pub use service::{Compacted, Opened, Store};
pub use snapshot::{StoredDesired, StoredObserved, StoredSnapshot};
pub use writes::{Expected, Put, Sight};
