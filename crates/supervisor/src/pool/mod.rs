//! Where collectors' passes and workers' actions run: threads of their own, and bounds on how much runs at once.
//!
//! The tick hands futures over and never waits for one. A future that blocks its thread costs that thread and nothing
//! else: it is noticed by the next ticks and another thread takes over, so neither other workers nor the runtime that
//! serves everything else come to a stop. Futures have the timers and sockets of the runtime in which the threads were
//! made. Without threads, a test polls them itself, and the same code is deterministic.
//!
//! Tasks are those of `async-task`. Threads and bounds are our own: an executor that replaces blocked threads and lets a
//! released task's room be used at once is not to be had.

mod bounded;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use bounded::PooledTask;
pub use bounded::{Pool, QUEUED_MAX, QueueFull};
pub(crate) use threads::TickTime;
pub use threads::{THREADS_MAX, Threads, ThreadsOptions};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happened in a panic, for people.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked without a word".to_owned())
}

/// Logs. Whoever listens to the log may panic; the tick goes on.
pub(crate) fn say(line: impl FnOnce()) {
    // Nothing of ours is touched by the line, and there is nobody left to tell.
    let _ = catch_unwind(AssertUnwindSafe(line));
}

/// The lock. What it guards is whole at every moment, so a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
