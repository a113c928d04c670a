//! Ends: of visits, of actions, of executions, and what goes with each.

use std::sync::Arc;

use sprag_core::action::progress::Cancelled;
use sprag_core::action::{Action, CancelledBy, Next, OnExit, Remark, Status};
use sprag_core::ids::ActionId;
use sprag_core::machine::{Cause, End};
use sprag_store::Mutation;
use sprag_store::records::ExecutionStatus;

use super::gate;
use super::traced::trace_closed;
use super::{Due, ExecutionChange, Note};
use crate::engine::options::CANCEL_GRACE_MILLIS;
use crate::requests::AttemptRef;

impl ExecutionChange<'_, '_> {
    /// The visit is over: its timers go, and its actions as their definitions say.
    pub(crate) fn end_visit(&mut self, visit: u64) {
        let timers = self.state.timers.range((visit, 0)..=(visit, u16::MAX));
        let keys: Vec<(u64, u16)> = timers.map(|(&key, _)| key).collect();
        for key in keys {
            if let Some(timer) = self.state.timers.remove(&key) {
                self.batch().delete_timer(timer.key);
            }
        }
        let machine = self.machine;
        let goes = |action: &&Arc<Action>| {
            let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
            match definition.map_or(OnExit::default(), |definition| definition.on_exit) {
                OnExit::Keep => false,
                OnExit::CancelNotDue => action.status == Status::Scheduled || gate::is_undecided(self.state, action),
                OnExit::Cancel => true,
            }
        };
        // Chosen before the first of them ends: an end may let another one join its queue.
        let of_visit = |action: &&Arc<Action>| action.body.visit == Some(visit);
        let going = self.state.actions.values().filter(of_visit).filter(goes);
        let going: Vec<ActionId> = going.map(|action| action.id).collect();
        for id in going {
            self.cancel_one(id, CancelledBy::Machine);
        }
    }

    pub(crate) fn cancel_all_of(&mut self, position: usize) {
        let Some(definition) = self.machine.actions.get(position) else {
            return;
        };
        let is_meant = |action: &&Arc<Action>| action.action_id == definition.action_id;
        let open = self.state.actions.values().filter(is_meant);
        let open: Vec<ActionId> = open.map(|action| action.id).collect();
        for id in open {
            self.cancel_one(id, CancelledBy::Machine);
        }
    }

    /// Cancels an open action, without feeding anything. Returns the end that the machine is to get.
    pub(crate) fn cancel_one(&mut self, id: ActionId, by: CancelledBy) -> Option<End> {
        let mut action = self.state.actions.remove(&id)?;
        self.known().queue.leave(&action);
        let now = self.now();
        let next = match Arc::make_mut(&mut action).cancel(by, now) {
            Ok(Cancelled::AtOnce(next)) => next,
            Ok(Cancelled::Requested) => {
                self.ask_to_stop(&action);
                self.decider.put_action(Arc::clone(&action));
                self.state.actions.insert(id, action);
                return None;
            }
            Err(_) => return None,
        };
        self.release_behind(&action.action_id);
        self.decider.put_action(action);
        match next {
            Next::Ended(end) => Some(end),
            Next::Quiet | Next::Again => None,
        }
    }

    fn ask_to_stop(&mut self, action: &Action) {
        let Some(current) = action.current() else { return };
        let attempt = AttemptRef::of(action, current.id);
        let overdue_at = self.now().plus(CANCEL_GRACE_MILLIS);
        self.known().queue.leases.ask_to_stop(attempt.attempt);
        let batch = self.batch();
        batch.cancels.push(attempt);
        batch.due.push((overdue_at, Due::Overdue(attempt)));
    }

    /// The execution is closed: nothing of it fires any more.
    pub(crate) fn close(&mut self, status: ExecutionStatus) {
        self.set_status(status);
        self.batch().notes.push(Note::Closed(status));
        trace_closed(self, status);
        self.state.failure = None;
        for (_, timer) in std::mem::take(&mut self.state.timers) {
            self.batch().delete_timer(timer.key);
        }
        let execution = self.state.head.id;
        for (position, _) in std::mem::take(&mut self.state.inbox) {
            self.batch().log.push(Mutation::DeleteInbox { execution, position });
        }
        let goes = |action: &&Arc<Action>| status == ExecutionStatus::Cancelled || action.body.behind;
        let ended = self.state.actions.values().filter(goes);
        let ended: Vec<ActionId> = ended.map(|action| action.id).collect();
        for id in ended {
            self.cancel_one(id, CancelledBy::Execution);
        }
    }

    /// An action has ended: the event for its machine, and the record.
    pub(crate) fn end_action(&mut self, mut action: Arc<Action>, next: Next) {
        self.state.actions.remove(&action.id);
        let mut end = None;
        if let Next::Ended(ended) = next {
            // Due timers come first, and may close the execution or trigger the action anew.
            self.fire_due();
            if !self.state.head.status.is_open() {
                Arc::make_mut(&mut action).body.remark = Some(Remark::ExecutionClosed);
            } else if self.is_superseded(&ended) {
                Arc::make_mut(&mut action).body.remark = Some(Remark::Superseded);
            } else {
                end = Some(ended);
            }
        }
        let action_id = action.action_id.clone();
        self.decider.put_action(action);
        self.release_behind(&action_id);
        if let Some(end) = end {
            self.feed_end(end);
        }
    }

    /// Feeds the end of an action to the machine, after the input that waits already.
    pub(crate) fn feed_end(&mut self, end: End) {
        let cause = Cause::Ended(end);
        if self.state.inbox.is_empty() {
            self.feed(cause);
        } else {
            self.enqueue(cause);
        }
    }

    /// The earliest occurrence that waited for others to end joins its queue, once none of them is open.
    fn release_behind(&mut self, action_id: &str) {
        let now = self.now();
        let of_id = |action: &&mut Arc<Action>| action.action_id == action_id;
        let mut others = self.state.actions.values_mut().filter(of_id);
        if others.any(|action| !action.body.behind) {
            return;
        }
        let waiting = self.state.actions.values_mut().filter(of_id);
        let Some(shared) = waiting.min_by_key(|action| action.body.ordinal) else {
            return;
        };
        let next = Arc::make_mut(shared);
        next.body.behind = false;
        if next.make_ready(now).is_ok() {
            let next = Arc::clone(shared);
            if self.state.head.status != ExecutionStatus::Paused {
                self.known().queue.join(&next);
            }
            self.decider.put_action(next);
        }
    }
}
