//! The pool for collectors' passes and workers' actions: its own threads, and limits on running tasks.
//!
//! The tick hands futures over and never waits for one. A future that blocks its thread costs only that thread: the
//! next ticks detect it, and another thread takes over. So neither other workers nor the rest of the runtime stop.
//! Futures use the timers and sockets of the runtime that created the threads. Without threads, a test polls the
//! futures itself, and the same code is deterministic.
//!
//! Tasks are those of `async-task`. Threads and limits are our own, because no executor both replaces blocked threads
//! and frees the place of a released task at once.

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
