//! The runtime under the tree: passes of the collector, attempts of the executor, and the pool of threads under both.

pub mod collector;
pub mod executor;
pub mod pool;
