//! The events that the collector reports to the tick, and their form for operators.

use std::sync::Arc;

use serde::Serialize;
use sprag_core::time::Timestamp;

/// How well a worker is being looked at. Not a state of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Observation {
    /// The newest observation is young enough to decide on.
    Fresh,
    /// It is not, or there is none yet.
    Stale,
    /// The last pass failed.
    Failing {
        /// Its error.
        error: Arc<str>,
    },
}

impl Observation {
    /// The word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Failing { .. } => "failing",
        }
    }
}

/// How a worker's collection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// For operators.
    pub observation: Observation,
    /// When the pass of the newest observation began.
    pub observed_at: Option<Timestamp>,
    /// Whether the newest observation may be decided on: by its age alone.
    pub is_current: bool,
    /// Restarts of the collection since the newest observation.
    pub restarts: u32,
    /// Passes that were given up and have not returned: they block threads.
    pub strays: usize,
}

/// What happened since the last scan, each thing once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectorEvent<O> {
    /// A pass brought an observation.
    Observed {
        /// Of whom.
        worker: Arc<str>,
        /// When the pass began.
        at: Timestamp,
        /// What it saw.
        value: O,
    },
    /// A pass failed or took too long.
    Failed {
        /// Of whom.
        worker: Arc<str>,
        /// Why.
        error: Arc<str>,
    },
    /// The newest observation became too old to decide on.
    Stale {
        /// Of whom.
        worker: Arc<str>,
    },
    /// Collection was restarted.
    Restarted {
        /// Of whom.
        worker: Arc<str>,
        /// How often since the newest observation.
        restarts: u32,
    },
    /// All restarts were used and nothing was seen. Collection goes on.
    Exhausted {
        /// Of whom.
        worker: Arc<str>,
        /// The error of the last pass, if it failed.
        error: Option<Arc<str>>,
    },
    /// An observation arrived after restarts.
    Recovered {
        /// Of whom.
        worker: Arc<str>,
        /// How many restarts there were.
        restarts: u32,
    },
    /// The last pass of a worker that leaves is over, and its collection with it.
    Finished {
        /// Of whom.
        worker: Arc<str>,
        /// What it observed; `None` when it failed, which holds nothing up.
        last: Option<(Timestamp, O)>,
    },
}

/// What the collector counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorCounts {
    /// Passes started.
    pub passes: u64,
    /// Passes that returned an error, panicked, or took too long.
    pub failed: u64,
    /// Of these, the ones that panicked.
    pub panicked: u64,
    /// Of these, the ones that took too long.
    pub timed_out: u64,
    /// Restarts.
    pub restarts: u64,
    /// Results that came after their pass was given up.
    pub late: u64,
}
