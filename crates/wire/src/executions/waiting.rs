//! What an execution or an action waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::ids::{AttemptId, NodeId};
use sprag_core::time::Timestamp;

use crate::values::words::words;

/// What an execution or an action waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Waiting {
    /// An attempt is running.
    Running {
        /// The id of the attempt.
        attempt: AttemptId,
        /// The time when the attempt began.
        since: Timestamp,
        /// The node that runs it, if several nodes share a database.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeId>,
        /// The end of that node's lease, unless the node renews it. After that, other nodes take over its work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node_until: Option<Timestamp>,
        /// The lease of the external runner that runs the attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Lease>,
    },
    /// An attempt failed, and the next attempt has a due time.
    Retrying {
        /// The number of attempts so far.
        attempt: u32,
        /// The time when the next attempt is due.
        next_at: Timestamp,
        /// The error type of the last attempt.
        error: String,
    },
    /// It waits.
    Waiting {
        /// What it waits for.
        #[serde(rename = "for")]
        reason: WaitingFor,
        /// The id or name of what it waits for.
        object: String,
        /// The time since when. For a runner: the time since when no runner has asked this server for such work.
        since: Timestamp,
        /// The time until when, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// It has ended.
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
    /// The reason for a wait.
    WaitingFor {
        /// A due time.
        Timer = "timer",
        /// A message to be sent.
        Message = "message",
        /// Its turn under a concurrency limit.
        Permit = "permit",
        /// Its turn under a rate limit.
        Rate = "rate",
        /// An external runner that serves its type.
        Runner = "runner",
        /// Another action or occurrence to end.
        Dependency = "dependency",
        /// A kill switch to be released.
        KillSwitch = "killSwitch",
        /// A person to resume it.
        Pause = "pause",
        /// A destination to recover: its circuit breaker is open.
        Circuit = "circuit",
        /// A person to approve it.
        Approval = "approval",
        /// A person to fix a failed decision.
        Decision = "decision",
    }
}

/// The lease of an external runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The name of the runner.
    pub runner: Option<String>,
    /// The end of the lease, unless a heartbeat extends it.
    pub until: Timestamp,
}
