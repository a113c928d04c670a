//! Processes of this machine: the process table, trees of processes that belong together, and how a tree ends.
//!
//! Runners end what an attempt started, the supervisor what a service started; both mean the same by it. Nothing here
//! ever signals a process that merely has the id of one that is gone.

pub mod cgroup;
mod look;
mod table;
mod tree;

pub use look::{Looked, Seen, Ticket, look_for};
pub use table::{Identity, Status, boot_id, table, variable};
pub use tree::{Mark, Stopped, Tree};
