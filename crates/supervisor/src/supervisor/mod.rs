//! The loop around the tree, its handle and its options.

pub(crate) mod options;
mod service;

pub use service::{Declaration, Handle, Operation, Setup, Supervisor};
