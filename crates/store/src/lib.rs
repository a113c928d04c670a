//! What Sprag remembers.
//!
//! [`records`] are the rows, [`traits`] what callers may ask, split by caller. Mutations are data: the engine decides,
//! the store writes them all in one transaction or none. A backend lives in a module of its own and passes the suite
//! in `conformance`.

pub mod assignment;
mod checks;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
#[cfg(feature = "failpoints")]
pub mod failpoint;
pub mod home;
pub mod hooked;
mod lane;
pub mod memory;
pub mod nodes;
pub mod page;
mod pool;
pub mod postgres;
pub mod private;
pub mod records;
mod rows;
mod search;
pub mod sqlite;
pub mod traits;
pub mod transfer;

pub use hooked::{Hooked, StoreHook};
pub use memory::Memory;
pub use nodes::Nodes;
pub use page::{PAGE_BYTES_MAX, Page, PageLimit, Paged, ReadKind};
pub use traits::{Commit, CommitStore, Error, Fence, LaneReads, LaneStore, Mutation, Queue, Reader, ShardId, Wanted};
