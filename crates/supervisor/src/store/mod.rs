//! What the supervisor remembers of its workers: who they are, what is wanted, what was seen, and what must survive.
//!
//! Everything is in memory, as compact JSON text. What did not change is not written and makes no delta. With a file, a
//! thread of its own writes what changed, many workers in one transaction: the tick only marks, so no disk makes it
//! wait. A caller that needs to know that something is on disk (the start of an action, an operator's change) waits
//! for its [`Durable`]. Observations are written at leisure; everything else at once.

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
