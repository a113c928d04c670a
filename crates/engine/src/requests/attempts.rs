//! Attempts, as the engine itself speaks of them: started, checkpointed, ended, overdue, interrupted.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::error::kind;
use sprag_core::action::{Action, Outcome};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};

use super::{Code, Command, IfRefused, Keep, Overlap, Refusal, Request, Route};
use crate::decide::{self, Decider, Turn};

/// An attempt, with where to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptRef {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its action.
    pub action: ActionId,
    /// The execution of the action.
    pub execution: ExecutionId,
}

impl AttemptRef {
    /// An attempt of an action.
    pub(crate) fn of(action: &Action, attempt: AttemptId) -> Self {
        Self {
            attempt,
            action: action.id,
            execution: action.origin.execution,
        }
    }
}

/// An attempt ended.
#[derive(Clone, Debug)]
pub struct ReportOutcome {
    /// Which.
    pub attempt: AttemptRef,
    /// How.
    pub outcome: Outcome,
}

impl Request for ReportOutcome {
    type Answer = ();
    const NAME: &'static str = "report-outcome";
    const OVERLAP: Overlap = Overlap::Everyday;
    const ON_STORE_FAILURE: Keep = Keep::Requeue;

    own_variant!(ReportOutcome);

    fn route(&self) -> Route {
        Route::Execution(self.attempt.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decide::settle(decider, self.attempt, self.outcome.clone());
        Ok(())
    }

    /// The attempt must end: with an error that can be stored.
    fn if_refused(&self) -> IfRefused<Self> {
        if self.outcome.is_not_stored() {
            return IfRefused::Fail;
        }
        IfRefused::Replace(Self {
            attempt: self.attempt,
            outcome: self.outcome.not_stored(),
        })
    }
}

/// The outcome of an attempt that did not end in time, where its own cannot be stored.
pub(super) fn timed_out(attempt: AttemptRef) -> Command {
    let outcome = Outcome::unknown(kind::TIMEOUT, "the attempt did not end in time");
    Command::own(ReportOutcome {
        attempt,
        outcome: outcome.not_stored(),
    })
}

/// A running attempt wants a value committed with it.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Which.
    pub attempt: AttemptRef,
    /// What.
    pub value: Value,
}

impl Request for Checkpoint {
    type Answer = ();
    const NAME: &'static str = "checkpoint";

    fn route(&self) -> Route {
        Route::Execution(self.attempt.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        checkpoint(decider, self.attempt, &self.value)
    }
}

pub(super) fn checkpoint(decider: &mut Decider<'_>, at: AttemptRef, value: &Value) -> Result<(), Refusal> {
    let superseded = || {
        let detail = format!(
            "attempt `{}` is no longer current; stop the work and do not report it again",
            at.attempt
        );
        Refusal::new(Code::AttemptSuperseded, detail)
    };
    let committed = decider.change(at.execution, |change| {
        let action = change.state.actions.get_mut(&at.action)?;
        action.current().filter(|current| current.id == at.attempt)?;
        Arc::make_mut(action).body.checkpoint = Some(value.clone());
        change.decider.put_action(action.clone());
        Some(())
    });
    committed.ok().flatten().ok_or_else(superseded)
}

/// Start an action that the queue chose, whose execution had to be loaded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Of which execution.
    pub execution: ExecutionId,
    /// Which action.
    pub action: ActionId,
}

impl Begin {
    pub(crate) fn command((execution, action): Turn) -> Command {
        Command::own(Self { execution, action })
    }
}

impl Request for Begin {
    type Answer = ();
    const NAME: &'static str = "begin";
    const OVERLAP: Overlap = Overlap::Everyday;

    own_variant!(Begin);

    fn route(&self) -> Route {
        Route::Execution(self.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decide::begin(decider, self.execution, self.action);
        Ok(())
    }
}

/// Settle an attempt that an earlier process left running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Of which execution.
    pub execution: ExecutionId,
    /// Of which action.
    pub action: ActionId,
}

impl Request for Interrupted {
    type Answer = ();
    const NAME: &'static str = "interrupted";
    const ON_STORE_FAILURE: Keep = Keep::RequeueFirst;

    own_variant!(Interrupted);

    fn route(&self) -> Route {
        Route::Execution(self.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decide::interrupted(decider, self.execution, self.action);
        Ok(())
    }
}

/// An attempt was asked to stop and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue(pub AttemptRef);

impl Request for Overdue {
    type Answer = ();
    const NAME: &'static str = "overdue";
    const ON_STORE_FAILURE: Keep = Keep::Requeue;

    fn route(&self) -> Route {
        Route::Execution(self.0.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decide::overdue(decider, self.0);
        Ok(())
    }

    fn if_refused(&self) -> IfRefused<Self> {
        IfRefused::Instead(Box::new(timed_out(self.0)))
    }
}
