//! A plan about which nobody decided in time, or nearly so.

use sprag_core::ids::WorkflowId;
use sprag_core::operation::WorkflowStatus;

use super::super::{Refusal, Request, Route};
use super::decide::{end, write};
use crate::decide::{Decider, Reads};

/// The time to decide about a plan may be over, or there may be something to tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpirePlan(pub WorkflowId);

impl Request for ExpirePlan {
    type Answer = ();
    const NAME: &'static str = "expire-plan";

    fn route(&self) -> Route {
        Route::Slot(self.0.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.plan(self.0);
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let mut plan = decider.plan(self.0)?;
        let now = decider.now();
        let is_over = plan.decide_by.is_some_and(|by| by <= now) && plan.status == WorkflowStatus::AwaitingApproval;
        if !is_over && plan.look_at().is_some_and(|at| at <= now) {
            // Writing it tells what there is to tell.
            return write(decider, plan);
        }
        if !is_over || plan.become_status(WorkflowStatus::Expired, now).is_err() {
            return Ok(());
        }
        tracing::info!(workflow = %self.0, "plan expired, nobody decided");
        end(decider, plan)
    }
}
