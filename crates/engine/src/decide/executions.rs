//! Pause, resume and cancel of executions.

use sprag_core::action::Status;
use sprag_core::ids::ExecutionId;
use sprag_core::machine::Machine;
use sprag_store::Error;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::Variables;

use crate::aggregate::Aggregate;
use crate::command::{Answer, Code, Refusal, Reply};
use crate::convert::Entry;
use crate::lane::{Lane, Write};
use crate::view;

impl Lane {
    /// Holds decisions and starts. Attempts under way end normally.
    pub(super) fn pause(&mut self, id: ExecutionId) -> Result<Reply, Error> {
        self.with_execution(id, |lane, aggregate, _| match aggregate.head.status {
            ExecutionStatus::Paused => Ok(()),
            ExecutionStatus::Running => {
                lane.set_status(aggregate, ExecutionStatus::Paused);
                lane.record(aggregate, &Entry::Paused);
                lane.hold_actions(aggregate);
                Ok(())
            }
            _ => Err(conflict(aggregate, "paused", "running")),
        })
    }

    /// Goes on: due timers fire in due order, then the inbox is worked off in arrival order.
    pub(super) fn resume(&mut self, id: ExecutionId) -> Result<Reply, Error> {
        self.with_execution(id, |lane, aggregate, machine| match aggregate.head.status {
            ExecutionStatus::Running => Ok(()),
            ExecutionStatus::Paused | ExecutionStatus::Failed => {
                lane.set_status(aggregate, ExecutionStatus::Running);
                aggregate.failure = None;
                lane.record(aggregate, &Entry::Resumed);
                lane.release_actions(aggregate);
                lane.fire_and_drain(aggregate, machine);
                Ok(())
            }
            _ => Err(conflict(aggregate, "resumed", "paused or failed")),
        })
    }

    /// Ends the execution and all its open actions.
    pub(super) fn cancel(&mut self, id: ExecutionId) -> Result<Reply, Error> {
        self.with_execution(id, |lane, aggregate, _| match aggregate.head.status {
            ExecutionStatus::Cancelled => Ok(()),
            ExecutionStatus::Completed => Err(conflict(aggregate, "cancelled", "open")),
            _ => {
                lane.record(aggregate, &Entry::Cancelled);
                lane.close(aggregate, ExecutionStatus::Cancelled);
                Ok(())
            }
        })
    }

    /// Timers that became due meanwhile come before the inbox.
    fn fire_and_drain(&mut self, aggregate: &mut Aggregate, machine: &Machine) {
        self.fire_due(aggregate, machine);
        self.drain(aggregate, machine);
    }

    pub(super) fn with_execution(
        &mut self,
        id: ExecutionId,
        act: impl FnOnce(&mut Self, &mut Aggregate, &Machine) -> Result<(), Refusal>,
    ) -> Result<Reply, Error> {
        let mut aggregate = match self.take(id) {
            Ok(aggregate) => aggregate,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let machine = self.machine_of(&aggregate)?;
        let acted = act(self, &mut aggregate, &machine);
        // A migration pins it to another version.
        let machine = self.machine_of(&aggregate)?;
        let view = view::execution(&aggregate, &machine);
        self.cache.put(aggregate);
        Ok(acted.map(|()| Answer::Execution(Box::new(view))))
    }

    /// Queued actions leave their lines: their rows are written without one.
    fn hold_actions(&mut self, aggregate: &Aggregate) {
        for action in aggregate.queued() {
            self.dispatcher.leave(action);
            self.batch
                .put_action(Write::Update(Variables::Unchanged), action.clone());
        }
    }

    /// Queued actions join their lines again.
    fn release_actions(&mut self, aggregate: &Aggregate) {
        for action in aggregate
            .actions
            .values()
            .filter(|action| action.status == Status::Queued)
        {
            self.dispatcher.join(action);
            self.batch
                .put_action(Write::Update(Variables::Unchanged), action.clone());
        }
    }

    /// Input was deferred by a bound: it is worked off now.
    pub(super) fn go_on(&mut self, id: ExecutionId) -> Result<(), Error> {
        let Ok(mut aggregate) = self.take(id) else {
            return Ok(());
        };
        let machine = self.machine_of(&aggregate)?;
        self.fire_and_drain(&mut aggregate, &machine);
        self.cache.put(aggregate);
        Ok(())
    }
}

fn conflict(aggregate: &Aggregate, wanted: &str, needed: &str) -> Refusal {
    let head = &aggregate.head;
    let detail = format!(
        "execution `{}` is {}; only one that is {needed} can be {wanted}",
        head.id,
        head.status.word()
    );
    Refusal::new(Code::StatusConflict, detail)
}
