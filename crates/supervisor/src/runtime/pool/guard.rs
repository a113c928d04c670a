//! Keeps panics of workers' code and of log subscribers from spreading.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happened in a panic, for people.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked without a word".to_owned())
}

/// Logs. A log subscriber may panic; the tick continues.
pub(crate) fn say(line: impl FnOnce()) {
    // The line touches nothing of ours, and there is nowhere left to report the panic.
    let _ = catch_unwind(AssertUnwindSafe(line));
}

/// The lock. What it guards is whole at every moment, so a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
