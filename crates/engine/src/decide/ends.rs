//! Ends: of visits, of actions, of executions, and what goes with each.

use std::sync::Arc;

use sprag_core::action::progress::Cancelled;
use sprag_core::action::{Action, CancelledBy, Next, OnExit, Remark, Status};
use sprag_core::ids::ActionId;
use sprag_core::machine::{Cause, End, Machine};
use sprag_store::Mutation;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::Variables;

use super::feed::is_superseded;
use crate::aggregate::Aggregate;
use crate::command::AttemptRef;
use crate::lane::{Lane, Write};
use crate::metrics::Note;
use crate::options::CANCEL_GRACE_MILLIS;
use crate::timers::Due;

impl Lane {
    /// The visit is over: its timers go, and its actions as their definitions say.
    pub(super) fn end_visit(&mut self, aggregate: &mut Aggregate, machine: &Machine, visit: u64) {
        let keys: Vec<(u64, u16)> = aggregate
            .timers
            .range((visit, 0)..=(visit, u16::MAX))
            .map(|(&key, _)| key)
            .collect();
        for key in keys {
            if let Some(timer) = aggregate.timers.remove(&key) {
                self.batch.delete_timer(timer.key);
            }
        }
        let goes = |action: &&Arc<Action>| {
            let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
            match definition.map_or(OnExit::default(), |definition| definition.on_exit) {
                OnExit::Keep => false,
                OnExit::CancelNotDue => action.status == Status::Scheduled,
                OnExit::Cancel => true,
            }
        };
        // Chosen before the first of them ends: an end may let another one join its line.
        let going: Vec<_> = aggregate
            .actions
            .values()
            .filter(|action| action.body.visit == Some(visit))
            .filter(goes)
            .map(|action| action.id)
            .collect();
        for id in going {
            self.cancel_one(aggregate, id, CancelledBy::Machine);
        }
    }

    pub(super) fn cancel_all_of(&mut self, aggregate: &mut Aggregate, machine: &Machine, position: usize) {
        let Some(definition) = machine.actions.get(position) else {
            return;
        };
        let open: Vec<_> = aggregate
            .actions
            .values()
            .filter(|action| action.action_id == definition.action_id)
            .map(|action| action.id)
            .collect();
        for id in open {
            self.cancel_one(aggregate, id, CancelledBy::Machine);
        }
    }

    /// Cancels an open action, without feeding anything. Says whether the machine is to hear of it.
    pub(super) fn cancel_one(&mut self, aggregate: &mut Aggregate, id: ActionId, by: CancelledBy) -> Option<End> {
        let mut action = aggregate.actions.remove(&id)?;
        self.dispatcher.leave(&action);
        let next = match Arc::make_mut(&mut action).cancel(by, self.now) {
            Ok(Cancelled::AtOnce(next)) => next,
            Ok(Cancelled::Requested) => {
                self.ask_to_stop(aggregate, &action);
                self.batch
                    .put_action(Write::Update(Variables::Unchanged), action.clone());
                aggregate.actions.insert(id, action);
                return None;
            }
            Err(_) => return None,
        };
        self.release_behind(aggregate, &action.action_id);
        self.batch.put_action(Write::Update(Variables::Unchanged), action);
        match next {
            Next::Ended(end) => Some(end),
            Next::Quiet | Next::Again => None,
        }
    }

    fn ask_to_stop(&mut self, aggregate: &Aggregate, action: &Action) {
        let Some(attempt) = action.current() else { return };
        let attempt = AttemptRef {
            attempt: attempt.id,
            action: action.id,
            execution: aggregate.head.id,
        };
        self.dispatcher.leases.ask_to_stop(attempt.attempt);
        self.batch.cancels.push(attempt);
        self.batch
            .due
            .push((self.now.plus(CANCEL_GRACE_MILLIS), Due::Overdue(attempt)));
    }

    /// The execution is closed: nothing of it fires any more.
    pub(super) fn close(&mut self, aggregate: &mut Aggregate, status: ExecutionStatus) {
        self.set_status(aggregate, status);
        self.batch.notes.push(Note::Closed(status));
        self.trace_closed(aggregate, status);
        aggregate.failure = None;
        for (_, timer) in std::mem::take(&mut aggregate.timers) {
            self.batch.delete_timer(timer.key);
        }
        let execution = aggregate.head.id;
        for (position, _) in std::mem::take(&mut aggregate.inbox) {
            self.batch.log.push(Mutation::DeleteInbox { execution, position });
        }
        let goes = |action: &&Arc<Action>| status == ExecutionStatus::Cancelled || action.body.behind;
        let ended: Vec<_> = aggregate
            .actions
            .values()
            .filter(goes)
            .map(|action| action.id)
            .collect();
        for id in ended {
            self.cancel_one(aggregate, id, CancelledBy::Execution);
        }
    }

    /// An action has ended: what its machine hears of it, and the record.
    pub(super) fn end_action(
        &mut self,
        aggregate: &mut Aggregate,
        machine: &Machine,
        mut action: Arc<Action>,
        next: Next,
    ) {
        aggregate.actions.remove(&action.id);
        let mut end = None;
        if let Next::Ended(ended) = next {
            // Due timers come first, and may close the execution or trigger the action anew.
            self.fire_due(aggregate, machine);
            if !aggregate.head.status.is_open() {
                Arc::make_mut(&mut action).body.remark = Some(Remark::ExecutionClosed);
            } else if is_superseded(aggregate, &ended) {
                Arc::make_mut(&mut action).body.remark = Some(Remark::Superseded);
            } else {
                end = Some(ended);
            }
        }
        let action_id = action.action_id.clone();
        self.batch.put_action(Write::Update(Variables::Unchanged), action);
        self.release_behind(aggregate, &action_id);
        if let Some(end) = end {
            self.hear(aggregate, machine, end);
        }
    }

    /// The machine hears of an action's end, after the input that waits already.
    pub(super) fn hear(&mut self, aggregate: &mut Aggregate, machine: &Machine, end: End) {
        let cause = Cause::Ended(end);
        if aggregate.inbox.is_empty() {
            self.feed(aggregate, machine, cause);
        } else {
            self.enqueue(aggregate, cause);
        }
    }

    /// The earliest occurrence that waited for others to end joins its line, once none of them is open.
    fn release_behind(&mut self, aggregate: &mut Aggregate, action_id: &str) {
        let of_id = |action: &&mut Arc<Action>| action.action_id == action_id;
        if aggregate
            .actions
            .values_mut()
            .filter(of_id)
            .any(|action| !action.body.behind)
        {
            return;
        }
        let waiting = aggregate.actions.values_mut().filter(of_id);
        let Some(shared) = waiting.min_by_key(|action| action.body.ordinal) else {
            return;
        };
        let next = Arc::make_mut(shared);
        next.body.behind = false;
        if next.make_ready(self.now).is_ok() {
            let next = Arc::clone(shared);
            if aggregate.head.status != ExecutionStatus::Paused {
                self.dispatcher.join(&next);
            }
            self.batch.put_action(Write::Update(Variables::Unchanged), next);
        }
    }
}
