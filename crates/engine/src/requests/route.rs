//! What a request is about. Which shard decides it, what it reads and what its idempotency key names follow from that.

use sprag_core::ids::{ActionId, AttemptId, ExecutionId, JobId, Slot};

use crate::decide::Reads;

/// What a request is about, and so which shard decides it. An execution, an action or an attempt is in memory by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// An execution.
    Execution(ExecutionId),
    /// An action, with its execution.
    Action(ActionId),
    /// An attempt that a program may have leased, with its execution.
    Attempt(AttemptId),
    /// The shard of a slot.
    Slot(Slot),
    /// A job, in the control shard.
    Job(JobId),
    /// The control shard: definitions, switches, limits and jobs.
    Control,
    /// Any lane.
    Any,
    /// A shard of the lane that gets it: a new execution without a key.
    NewExecution,
}

impl Route {
    /// The slot whose shard decides; none where any lane may. `once` is the slot of the idempotency key, where a start
    /// without a key of its own belongs.
    pub fn slot(self, once: Option<Slot>) -> Option<Slot> {
        match self {
            Self::Execution(id) => Some(id.slot()),
            Self::Action(id) => Some(id.slot()),
            Self::Attempt(id) => Some(id.slot()),
            Self::Slot(slot) => Some(slot),
            Self::Job(_) | Self::Control => Some(Slot::default()),
            Self::Any => None,
            Self::NewExecution => once,
        }
    }

    /// The execution that is named outright. The lane sets it aside if the store refuses a request of the engine's own.
    pub(crate) fn execution(self) -> Option<ExecutionId> {
        match self {
            Self::Execution(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn reads(self, reads: &mut Reads<'_>) {
        match self {
            Self::Execution(id) => _ = reads.execution(id),
            Self::Action(id) => _ = reads.action(id),
            Self::Attempt(id) => reads.leased(id),
            Self::Slot(_) | Self::Job(_) | Self::Control | Self::Any | Self::NewExecution => {}
        }
    }

    pub(super) fn target(self) -> Option<String> {
        match self {
            Self::Execution(id) => Some(id.to_string()),
            Self::Action(id) => Some(id.to_string()),
            Self::Attempt(id) => Some(id.to_string()),
            Self::Job(id) => Some(id.to_string()),
            Self::Slot(_) | Self::Control | Self::Any | Self::NewExecution => None,
        }
    }
}
