//! Load tests: what agents load, and how much of it arrived.

pub(crate) mod nginx;
pub(crate) mod stalls;
