//! Where collectors' passes and workers' actions run: threads of their own, and bounds on how much runs at once.
//!
//! The tick hands futures over and never waits for one. A future that blocks its thread costs that thread and nothing
//! else: it is noticed by the next ticks and another thread takes over, so neither other workers nor the runtime that
//! serves everything else come to a stop. Futures have the timers and sockets of the runtime in which the threads were
//! made. Without threads, a test polls them itself, and the same code is deterministic.
//!
//! Tasks are those of `async-task`. Threads and bounds are our own: no executor replaces blocked threads and lets the
//! room of a released task be used at once.

mod bounded;
mod guard;
#[cfg(test)]
mod tests;
mod threads;

pub use bounded::{Pool, QUEUED_MAX, QueueFull};
pub(crate) use bounded::{PooledTask, Work};
pub(crate) use guard::{lock, panic_text, say};
pub(crate) use threads::TickTime;
pub use threads::{THREADS_MAX, Threads, ThreadsOptions};
