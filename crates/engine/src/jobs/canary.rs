//! The first few letters of a job: they go ahead, and the rest follows only if none of them dies again.

use serde::{Deserialize, Serialize};
use sprag_core::ids::ActionId;
use sprag_wire as wire;

/// The most canaries.
pub const CANARY_MAX: u32 = 1_000;

/// Letters that go ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Canary {
    /// How many were asked for.
    pub(crate) size: u32,
    /// Which they are, until it is known how they ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) letters: Vec<ActionId>,
    /// Where they stand.
    pub(crate) state: CanaryState,
    /// How many were retried.
    #[serde(default)]
    pub(crate) retried: u32,
    /// How many of them died again.
    #[serde(default)]
    pub(crate) died: u32,
}

/// Where the canaries of a job stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CanaryState {
    /// They are being retried.
    Retrying,
    /// The job waits until they have ended.
    Waiting,
    /// None died again.
    Passed,
    /// Some did: the job was paused.
    Failed,
}

impl Canary {
    /// So many, none of them retried yet.
    pub(crate) fn new(size: u32) -> Self {
        Self {
            size: size.clamp(1, CANARY_MAX),
            letters: Vec::new(),
            state: CanaryState::Retrying,
            retried: 0,
            died: 0,
        }
    }

    /// How many are still to be retried.
    pub(crate) fn missing(&self) -> usize {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        match self.state {
            CanaryState::Retrying => size.saturating_sub(self.letters.len()),
            CanaryState::Waiting | CanaryState::Passed | CanaryState::Failed => 0,
        }
    }

    /// One was retried.
    pub(crate) fn push(&mut self, letter: ActionId) {
        if self.missing() > 0 {
            self.letters.push(letter);
            self.retried += 1;
        }
    }

    /// All of them have ended.
    pub(crate) fn judge(&mut self, died: usize) {
        self.died = u32::try_from(died).unwrap_or(u32::MAX);
        self.letters.clear();
        self.state = if died == 0 {
            CanaryState::Passed
        } else {
            CanaryState::Failed
        };
    }
}

impl From<&Canary> for wire::Canary {
    fn from(canary: &Canary) -> Self {
        let &Canary {
            size,
            letters: _,
            state,
            retried,
            died,
        } = canary;
        Self {
            size,
            retried,
            died,
            state: match state {
                CanaryState::Retrying => wire::CanaryState::Retrying,
                CanaryState::Waiting => wire::CanaryState::Waiting,
                CanaryState::Passed => wire::CanaryState::Passed,
                CanaryState::Failed => wire::CanaryState::Failed,
            },
        }
    }
}
