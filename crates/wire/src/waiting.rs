//! Why something does not move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::ids::{AttemptId, NodeId};
use sprag_core::time::Timestamp;

use crate::words::words;

/// Why something does not move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Waiting {
    /// An attempt is under way.
    Running {
        /// The attempt.
        attempt: AttemptId,
        /// When it began.
        since: Timestamp,
        /// The node that runs it, where several nodes share a database.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeId>,
        /// When the lease of that node ends unless it is renewed. Other nodes take over its work then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node_until: Option<Timestamp>,
        /// The lease of the external runner that performs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Lease>,
    },
    /// An attempt failed and the next one has its time.
    Retrying {
        /// The number of attempts made.
        attempt: u32,
        /// When the next one is due.
        next_at: Timestamp,
        /// The error type of the last one.
        error: String,
    },
    /// Something must happen first.
    Waiting {
        /// What kind of thing.
        #[serde(rename = "for")]
        reason: WaitingFor,
        /// Which one.
        object: String,
        /// Since when. For a runner: since when no runner has asked this process for such work.
        since: Timestamp,
        /// Until when, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Nothing is left to happen.
    Done,
    /// A state that this version does not know.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(Value),
}

impl Waiting {
    /// Whether it says only that an action is queued. Only the action's owner knows what it lacks.
    pub fn is_for_permit(&self) -> bool {
        matches!(
            self,
            Self::Waiting {
                reason: WaitingFor::Permit,
                ..
            }
        )
    }
}

words! {
    /// What something waits for.
    WaitingFor {
        /// A due time.
        Timer = "timer",
        /// A message to be sent.
        Message = "message",
        /// A free place under a concurrency limit.
        Permit = "permit",
        /// Its turn under a rate limit.
        Rate = "rate",
        /// An external runner that serves its type.
        Runner = "runner",
        /// Something else to end first.
        Dependency = "dependency",
        /// A kill switch to be released.
        KillSwitch = "killSwitch",
        /// A person to resume it.
        Pause = "pause",
        /// A destination to recover.
        Circuit = "circuit",
        /// A person to fix what failed.
        Decision = "decision",
    }
}

/// Which external runner has an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The runner's own name.
    pub runner: Option<String>,
    /// When the lease ends unless a heartbeat renews it.
    pub until: Timestamp,
}
