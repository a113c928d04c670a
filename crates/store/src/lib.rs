//! What Sprag remembers.
//!
//! [`records`] are the rows, [`traits`] what callers may ask, split by caller. Mutations are data: the engine decides,
//! the store writes them all in one transaction or none. A backend lives in a module of its own and passes the suite
//! in `conformance`.

mod checks;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(feature = "failpoints")]
pub mod failpoint;
pub mod memory;
pub mod postgres;
pub mod records;
mod rows;
mod search;
pub mod sqlite;
pub mod traits;
pub mod transfer;

pub use memory::Memory;
pub use traits::{Error, Fence, LaneStore, Mutation, Reader, ShardId, Wanted};
