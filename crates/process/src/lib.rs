//! Processes of this machine: who is there, which of them belong together, and how all of them end.
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
