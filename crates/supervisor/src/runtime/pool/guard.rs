//! Panics of others, kept from spreading.

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
