//! What the executor tells the tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sprag_core::time::Timestamp;

use crate::action::ActionStatus;

/// What happened since the last scan, each thing once.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An attempt ended, for metrics.
    Attempted {
        /// Whose.
        worker: Arc<str>,
        /// The action's name.
        action: Arc<str>,
        /// The type of its error; `None`: it succeeded.
        error: Option<String>,
        /// How long it ran, by the ticks.
        millis: u64,
    },
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

/// What the executor counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
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
pub(super) struct Counters {
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

impl Counters {
    pub(super) fn read(&self) -> Counts {
        let Self {
            accepted,
            refused,
            panicked,
            stuck,
            leaked,
            late,
        } = self;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            accepted: read(accepted),
            refused: read(refused),
            panicked: read(panicked),
            stuck: read(stuck),
            leaked: read(leaked),
            late: read(late),
        }
    }
}
