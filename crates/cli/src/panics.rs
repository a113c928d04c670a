//! What is said when something panics: where, and never with which values.
//!
//! A formatted message may hold whatever its code had in hand, a secret included, and the log is no place for one. The
//! message of a runner that panicked is kept with its attempt, masked; elsewhere the place says enough to begin with.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// Takes the place of what the language itself would print.
pub(crate) fn start() {
    std::panic::set_hook(Box::new(say));
}

fn say(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or_default();
    // Texts that stand in the program hold nothing of what it works on.
    let literal = info.payload().downcast_ref::<&'static str>().copied();
    let message = literal.unwrap_or("(withheld: it may hold values)");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        tracing::error!(place, thread, message, %backtrace, "thread panicked");
    } else {
        tracing::error!(
            place,
            thread,
            message,
            "thread panicked; set RUST_BACKTRACE=1 for a backtrace"
        );
    }
}
