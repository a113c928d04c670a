//! Pause, resume and cancel executions, and continue one whose input was deferred.

use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::Verb;
use sprag_store::records::ExecutionStatus;

use super::audit::{Audit, execution_status};
use super::{Code, Keep, Refusal, Request, Route};
use crate::decide::convert::{Entry, What};
use crate::decide::state::ExecutionState;
use crate::decide::{Decider, ExecutionChange};
use crate::read::view::{self, ExecutionView};

/// Hold decisions and starts. Attempts that run end normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause(pub ExecutionId);

/// Continue: due timers fire in due order, then the inbox is worked off in arrival order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume(pub ExecutionId);

/// End the execution and all its open actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel(pub ExecutionId);

/// Work off input that a bound deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continue(pub ExecutionId);

impl Request for Pause {
    type Answer = Box<ExecutionView>;
    const NAME: &'static str = "pause";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::PauseExecution, |request| request.0.to_string())
            .changing(|request, decider, _| execution_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Execution(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        changed(decider, self.0, |change| match change.state.head.status {
            ExecutionStatus::Paused => Ok(()),
            ExecutionStatus::Running => {
                change.set_status(ExecutionStatus::Paused);
                change.record(&Entry::Plain(What::Paused));
                hold_actions(change);
                Ok(())
            }
            _ => Err(conflict(change.state, "paused", "running")),
        })
    }
}

impl Request for Resume {
    type Answer = Box<ExecutionView>;
    const NAME: &'static str = "resume";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ResumeExecution, |request| request.0.to_string())
            .changing(|request, decider, _| execution_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Execution(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        changed(decider, self.0, |change| match change.state.head.status {
            ExecutionStatus::Running => Ok(()),
            ExecutionStatus::Paused | ExecutionStatus::Failed => {
                change.set_status(ExecutionStatus::Running);
                change.state.failure = None;
                change.record(&Entry::Plain(What::Resumed));
                release_actions(change);
                change.fire_and_drain();
                Ok(())
            }
            _ => Err(conflict(change.state, "resumed", "paused or failed")),
        })
    }
}

impl Request for Cancel {
    type Answer = Box<ExecutionView>;
    const NAME: &'static str = "cancel";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::CancelExecution, |request| request.0.to_string())
            .changing(|request, decider, _| execution_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Execution(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        changed(decider, self.0, |change| match change.state.head.status {
            ExecutionStatus::Cancelled => Ok(()),
            ExecutionStatus::Completed => Err(conflict(change.state, "cancelled", "open")),
            _ => {
                change.record(&Entry::Plain(What::Cancelled));
                change.close(ExecutionStatus::Cancelled);
                Ok(())
            }
        })
    }
}

impl Request for Continue {
    type Answer = ();
    const NAME: &'static str = "continue";
    const ON_STORE_FAILURE: Keep = Keep::Requeue;

    fn route(&self) -> Route {
        Route::Execution(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decider.change(self.0, |change| {
            change.fire_and_drain();
        })
    }
}

/// Changes an execution, and shows it as it is then.
pub(super) fn changed(
    decider: &mut Decider<'_>,
    id: ExecutionId,
    act: impl FnOnce(&mut ExecutionChange<'_, '_>) -> Result<(), Refusal>,
) -> Result<Box<ExecutionView>, Refusal> {
    decider.change(id, |change| {
        act(change)?;
        // A migration pins it to another version.
        Ok(Box::new(view::execution(change.state, &change.machines.own)))
    })?
}

/// Queued actions leave their queues: their rows are written without one.
fn hold_actions(change: &mut ExecutionChange<'_, '_>) {
    for action in change.state.queued() {
        change.decider.known.queue.leave(action);
        change.decider.put_action(action.clone());
    }
}

/// Queued actions join their queues again.
fn release_actions(change: &mut ExecutionChange<'_, '_>) {
    for action in change.state.queued() {
        change.decider.known.queue.join(action);
        change.decider.put_action(action.clone());
    }
}

fn conflict(state: &ExecutionState, wanted: &str, needed: &str) -> Refusal {
    let (id, status) = (state.head.id, state.head.status.word());
    let detail = format!("execution `{id}` is {status}; only one that is {needed} can be {wanted}");
    Refusal::new(Code::StatusConflict, detail)
}
