//! What traces show of a batch, once it is durable.

use std::sync::Arc;

use sprag_core::action::{Action, Verdict};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_core::machine::Cause;
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::{Decider, ExecutionChange};

/// Something that happened to an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traced {
    /// It took a macrostep.
    Step(StepTaken),
    /// An attempt ended.
    Attempt(AttemptEnded),
    /// It was closed.
    Closed(ExecutionClosed),
}

/// A macrostep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTaken {
    /// Which execution.
    pub execution: ExecutionId,
    /// The sequence of the history entry.
    pub sequence: u64,
    /// Its machine.
    pub machine: Arc<str>,
    /// What it answered.
    pub event: String,
    /// Whether a transition answered.
    pub handled: bool,
    /// Where it was then.
    pub configuration: Vec<String>,
    /// When.
    pub at: Timestamp,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptEnded {
    /// Which execution.
    pub execution: ExecutionId,
    /// Which attempt.
    pub attempt: AttemptId,
    /// Of which action.
    pub action: ActionId,
    /// What the machine calls it.
    pub action_id: String,
    /// Its type.
    pub kind: String,
    /// From 1.
    pub number: u32,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// How.
    pub outcome: Verdict,
    /// The type and the message of its error.
    pub error: Option<(String, String)>,
}

/// An execution that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionClosed {
    /// Which execution.
    pub execution: ExecutionId,
    /// Its machine.
    pub machine: Arc<str>,
    /// The machine's version.
    pub version: u32,
    /// Its business key.
    pub key: Option<String>,
    /// How it was closed.
    pub status: ExecutionStatus,
    /// When it started.
    pub start: Timestamp,
    /// When it was closed.
    pub end: Timestamp,
}

impl Decider<'_> {
    /// The action's last attempt ended.
    pub(crate) fn trace_attempt(&mut self, action: &Action) {
        if !self.rules.is_traced {
            return;
        }
        let Some(attempt) = action.body.attempts.last() else {
            return;
        };
        let (Some(end), Some(outcome)) = (attempt.end_time, attempt.outcome) else {
            return;
        };
        let error = attempt.error.as_ref();
        self.batch.traced.push(Traced::Attempt(AttemptEnded {
            execution: action.origin.execution,
            attempt: attempt.id,
            action: action.id,
            action_id: action.action_id.clone(),
            kind: action.kind.clone(),
            number: attempt.number,
            start: attempt.start_time,
            end,
            outcome,
            error: error.map(|error| (error.kind.clone(), error.message.clone())),
        }));
    }
}

/// A macrostep was taken and recorded.
pub(crate) fn trace_step(change: &mut ExecutionChange<'_, '_>, event: Option<String>, handled: bool) {
    let Some(event) = event else { return };
    let head = &change.state.head;
    let step = StepTaken {
        execution: head.id,
        sequence: head.sequence,
        machine: head.machine.clone(),
        event,
        handled,
        configuration: change.machine.configuration(&change.state.execution.active),
        at: change.now(),
    };
    change.batch().traced.push(Traced::Step(step));
}

/// The execution is closed.
pub(crate) fn trace_closed(change: &mut ExecutionChange<'_, '_>, status: ExecutionStatus) {
    if !change.decider.rules.is_traced {
        return;
    }
    let head = &change.state.head;
    let closed = ExecutionClosed {
        execution: head.id,
        machine: head.machine.clone(),
        version: head.version,
        key: head.key.clone(),
        status,
        start: head.created_at,
        end: change.now(),
    };
    change.batch().traced.push(Traced::Closed(closed));
}

/// The name of the event that a macrostep handles.
pub(crate) fn event_name(cause: &Cause) -> String {
    match cause {
        Cause::Start => "start".to_owned(),
        Cause::Message(message) => message.kind.clone(),
        Cause::Timer(_) => "after".to_owned(),
        Cause::Ended(end) => format!("{}.{}", end.how.word(), end.action_id),
        Cause::Occurrence { action, .. } => format!("schedule.{action}"),
    }
}
