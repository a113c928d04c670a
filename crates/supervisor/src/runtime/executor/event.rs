//! The events that the executor reports to the tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sprag_core::time::Timestamp;

use crate::worker::action::{ActionError, ActionStatus};

/// What happened since the last scan, each thing once.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The first attempt of an action began.
    Started {
        /// Whose.
        worker: Arc<str>,
        /// The action's name.
        action: Arc<str>,
        /// Which attempt.
        attempt: u32,
    },
    /// An attempt timed out and was cancelled. Once for an attempt.
    TimedOut {
        /// Whose.
        worker: Arc<str>,
        /// The action's name.
        action: Arc<str>,
        /// Which attempt.
        attempt: u32,
        /// How long it had, in milliseconds.
        timeout_millis: u64,
    },
    /// An attempt ended.
    Attempted(Attempted),
    /// Another attempt follows.
    Retrying {
        /// Whose.
        worker: Arc<str>,
        /// How the action stands.
        status: Arc<ActionStatus>,
        /// When.
        due: Timestamp,
    },
    /// It does not react to its cancellation. Once for an attempt.
    Stuck {
        /// Whose.
        worker: Arc<str>,
        /// How the action stands.
        status: Arc<ActionStatus>,
    },
    /// The action is over and its slot free. Exactly once for an action.
    Ended {
        /// Whose.
        worker: Arc<str>,
        /// How it ended.
        status: Arc<ActionStatus>,
    },
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempted {
    /// Whose.
    pub worker: Arc<str>,
    /// The action's name.
    pub action: Arc<str>,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Its error; `None`: it succeeded.
    pub error: Option<ActionError>,
    /// Whether it timed out, which was reported when it happened.
    pub is_timed_out: bool,
    /// How long it ran, by the ticks.
    pub millis: u64,
}

/// What the executor counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutorCounts {
    /// Actions taken on.
    pub accepted: u64,
    /// Actions refused because another held the slot.
    pub refused: u64,
    /// Attempts that panicked.
    pub panicked: u64,
    /// Warnings of attempts that do not react.
    pub stuck: u64,
    /// Actions given up while they ran.
    pub leaked: u64,
    /// Results that came after their action was given up.
    pub late: u64,
}

/// The same, while it counts.
#[derive(Debug, Default)]
pub(super) struct ExecutorCounters {
    pub(super) accepted: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) stuck: AtomicU64,
    pub(super) leaked: AtomicU64,
    pub(super) late: AtomicU64,
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl ExecutorCounters {
    pub(super) fn read(&self) -> ExecutorCounts {
        let Self {
            accepted,
            refused,
            panicked,
            stuck,
            leaked,
            late,
        } = self;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExecutorCounts {
            accepted: read(accepted),
            refused: read(refused),
            panicked: read(panicked),
            stuck: read(stuck),
            leaked: read(leaked),
            late: read(late),
        }
    }
}
