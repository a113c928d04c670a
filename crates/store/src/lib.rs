//! What Sprag remembers.
//!
//! [`records`] are the rows, [`traits`] what callers may ask, split by caller, [`nodes`] who owns which shard. Mutations are
//! data: the engine decides, the store writes them all in one transaction or none. A backend ([`sqlite`], [`postgres`],
//! [`memory`]) lives in a module of its own and passes the suite in `conformance`.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod memory;
pub mod nodes;
mod pool;
pub mod postgres;
pub mod private;
pub mod records;
mod search;
pub mod sqlite;
pub mod traits;
pub mod transfer;

pub use memory::Memory;
pub use nodes::{Nodes, assignment, home};
#[cfg(feature = "failpoints")]
pub use traits::failpoint;
pub use traits::hooked::{self, Hooked, StoreHook};
pub use traits::page::{self, PAGE_BYTES_MAX, Page, PageLimit, Paged, ReadKind};
pub use traits::{Commit, CommitStore, Error, Fence, LaneReads, LaneStore, Mutation, Queue, Reader, ShardId, Wanted};
