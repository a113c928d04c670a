//! A restart machine as it is kept: ages instead of instants.
//!
//! The time between two lives of the process does not count: nothing was checked, so nothing shows that all was well.

use serde::{Deserialize, Serialize};

use super::{Circuit, RestartLimits, RestartMachine, RestartStage};
use crate::supervision::rest::Rest;
use crate::supervision::window::{Window, before};
use crate::time::Timestamp;

/// What survives the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Saved {
    /// How long ago each detection was, in milliseconds.
    pub detections: Vec<u64>,
    /// Restarts in a row.
    pub streak: u32,
    /// How long all has been well, in milliseconds.
    pub healthy_for: Option<u64>,
    /// Where the machine stood.
    pub circuit: SavedCircuit,
}

/// A circuit as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SavedCircuit {
    /// Business as usual.
    #[default]
    Closed,
    /// The child was being restarted.
    Restarting {
        /// How long the circuit had been open, in milliseconds.
        open_for: u64,
        /// How long the restart had lasted, in milliseconds.
        restarting_for: u64,
        /// The rest that follows, in milliseconds.
        rest_millis: u64,
    },
    /// The rule rested, or the next checks were to decide.
    Resting {
        /// How long the circuit had been open, in milliseconds.
        open_for: u64,
        /// How long the rest still was, in milliseconds.
        left_millis: u64,
    },
    /// Given up.
    Escalated {
        /// How long ago, in milliseconds.
        since: u64,
        /// Why.
        cause: String,
    },
}

impl RestartMachine {
    /// The form that is kept.
    pub fn save(&self, now: Timestamp) -> Saved {
        let circuit = match &self.circuit {
            Circuit::Closed => SavedCircuit::Closed,
            Circuit::Open {
                since,
                stage:
                    RestartStage::Restarting {
                        since: began,
                        rest_millis,
                    },
            } => SavedCircuit::Restarting {
                open_for: now.since(*since),
                restarting_for: now.since(*began),
                rest_millis: *rest_millis,
            },
            Circuit::Open {
                since,
                stage: RestartStage::Resting { until, .. },
            } => SavedCircuit::Resting {
                open_for: now.since(*since),
                left_millis: until.since(now),
            },
            Circuit::HalfOpen { since, .. } => SavedCircuit::Resting {
                open_for: now.since(*since),
                left_millis: 0,
            },
            Circuit::Escalated { since, cause } => SavedCircuit::Escalated {
                since: now.since(*since),
                cause: cause.clone(),
            },
        };
        Saved {
            detections: self.detections.ages(now),
            streak: self.rest.streak(),
            healthy_for: self.rest.healthy_since().map(|since| now.since(since)),
            circuit,
        }
    }

    /// A machine as it was kept.
    pub fn restored(limits: RestartLimits, saved: &Saved, now: Timestamp) -> Self {
        let Saved {
            detections,
            streak,
            healthy_for,
            circuit,
        } = saved;
        let circuit = match circuit {
            SavedCircuit::Closed => Circuit::Closed,
            SavedCircuit::Restarting {
                open_for,
                restarting_for,
                rest_millis,
            } => Circuit::Open {
                since: before(now, *open_for),
                stage: RestartStage::Restarting {
                    since: before(now, *restarting_for),
                    rest_millis: *rest_millis,
                },
            },
            SavedCircuit::Resting { open_for, left_millis } => Circuit::Open {
                since: before(now, *open_for),
                stage: RestartStage::Resting {
                    since: now,
                    until: now.plus(*left_millis),
                },
            },
            SavedCircuit::Escalated { since, cause } => Circuit::Escalated {
                since: before(now, *since),
                cause: cause.clone(),
            },
        };
        Self {
            limits,
            grace_since: None,
            detections: Window::restored(limits.window_millis, detections, now),
            rest: Rest::restored(*streak, healthy_for.map(|age| before(now, age))),
            circuit,
        }
    }
}
