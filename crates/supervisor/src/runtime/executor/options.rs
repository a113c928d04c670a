//! Options of the executor, and its own error types.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use crate::store::Durable;
use crate::worker::action::ActionStatus;

/// One warning at so many times the timeout.
pub const WARN_FACTOR: u64 = 2;
/// Given up at so many times the timeout.
pub const ABANDON_FACTOR: u64 = 3;
/// How long a cancelled action may take to end, in milliseconds. Also the bound of a stop.
pub const STOP_BOUND_MILLIS: u64 = 5_000;

/// Types of failures that are the executor's own, besides those of core.
pub mod class {
    /// It was cancelled on request.
    pub const CANCELLED: &str = "cancelled";
    /// It did not react to its cancellation and was given up; it may still do something.
    pub const ABANDONED: &str = "abandoned";
}

/// How the executor is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorOptions {
    /// How long cancelled actions may take to end, in milliseconds.
    pub stop_bound_millis: u64,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            stop_bound_millis: STOP_BOUND_MILLIS,
        }
    }
}

/// Remembers statuses beyond the process.
pub trait Marks: Send + Sync {
    /// Remembers the status of a worker's action. The action's first attempt waits until the mark of its start is
    /// durable; nothing else does.
    fn mark(&self, worker: &Arc<str>, status: &ActionStatus, now: Timestamp) -> Durable;
}

/// Remembers nothing: after a crash it is unknown that there was an action.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMarks;

impl Marks for NoMarks {
    fn mark(&self, _worker: &Arc<str>, _status: &ActionStatus, _now: Timestamp) -> Durable {
        Durable::at_once()
    }
}
