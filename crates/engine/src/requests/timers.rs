//! Due times. A wake-up is a hint: the decision is taken from the execution's own timers and actions.

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_store::records::TimerKey;

use super::{Overlap, Refusal, Request, Route};
use crate::decide::Decider;

/// A timer or schedule may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerDue(pub TimerKey);

impl Request for TimerDue {
    type Answer = ();
    const NAME: &'static str = "timer-due";
    const OVERLAP: Overlap = Overlap::Everyday;

    own_variant!(TimerDue);

    fn route(&self) -> Route {
        Route::Execution(self.0.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decider.change(self.0.execution, |change| {
            if change.state.is_deciding() {
                change.fire_due();
            }
        })
    }
}

/// A scheduled or retrying action may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionDue {
    /// Of which execution.
    pub execution: ExecutionId,
    /// Which action.
    pub action: ActionId,
}

impl Request for ActionDue {
    type Answer = ();
    const NAME: &'static str = "action-due";
    const OVERLAP: Overlap = Overlap::Everyday;

    own_variant!(ActionDue);

    fn route(&self) -> Route {
        Route::Execution(self.execution)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        decider.change(self.execution, |change| change.action_due(self.action))
    }
}
