//! Processes of this machine: the process table, trees of processes, and how to end a tree.
//!
//! Runners end the processes that an attempt started. The supervisor ends the processes that a service started. Both
//! use this crate. It never signals another process that got the id of an ended one.

pub mod cgroup;
mod look;
mod table;
mod tree;

pub use look::{Looked, Seen, Ticket, look_for};
pub use table::{Identity, Status, boot_id, table, variable};
pub use tree::{Mark, Stopped, Tree};
