//! Timers, schedules and due actions.

use std::sync::Arc;

use sprag_core::action::{Definition, Status};
use sprag_core::ids::ActionId;
use sprag_core::machine::{Cause, TimerKey};
use sprag_core::time::Timestamp;
use sprag_core::time::schedule::{Overlap, due};
use sprag_store::records::{ExecutionStatus, Timer};

use super::{Due, ExecutionChange, Note};
use crate::engine::options::FOLLOW_UPS_MAX;

impl ExecutionChange<'_, '_> {
    /// Fires every timer of the execution that is due now, in due order, up to a bound.
    pub(crate) fn fire_due(&mut self) {
        self.follow_real_clock();
        let now = self.now();
        for _ in 0..FOLLOW_UPS_MAX {
            if !self.state.is_deciding() {
                return;
            }
            let Some(timer) = self.state.due_timer(now) else {
                return;
            };
            let late_millis = now.since(timer.due_at);
            self.batch().notes.push(Note::Fired { late_millis });
            match &timer.schedule {
                Some(action_id) => fire_schedule(self, &timer, action_id),
                None => fire_timer(self, &timer),
            }
        }
        // More is due than one decision may take on: the next batch continues.
        if let Some(timer) = self.state.due_timer(now) {
            self.batch().due.push((timer.due_at, Due::Timer(timer.key)));
        }
    }

    /// A scheduled or retrying action is due: it joins its queue.
    pub(crate) fn action_due(&mut self, id: ActionId) {
        let now = self.now();
        let is_paused = self.state.head.status == ExecutionStatus::Paused;
        if let Some(action) = self.state.actions.get_mut(&id)
            && matches!(action.status, Status::Scheduled | Status::Retrying)
            && action.run_at <= now
            && Arc::make_mut(action).make_ready(now).is_ok()
        {
            let action = Arc::clone(action);
            if !is_paused {
                self.known().queue.join(&action);
            }
            self.decider.put_action(action);
        }
    }
}

fn fire_timer(change: &mut ExecutionChange<'_, '_>, timer: &Timer) {
    let key = TimerKey {
        visit: timer.key.visit,
        index: timer.key.index,
    };
    remove_timer(change, timer);
    change.feed(Cause::Timer(key));
}

fn remove_timer(change: &mut ExecutionChange<'_, '_>, timer: &Timer) {
    change.state.timers.remove(&(timer.key.visit, timer.key.index));
    change.batch().delete_timer(timer.key);
}

fn fire_schedule(change: &mut ExecutionChange<'_, '_>, timer: &Timer, action_id: &str) {
    remove_timer(change, timer);
    let machine = change.machine;
    let Some((_, definition)) = machine.action(action_id) else {
        return;
    };
    let Some(schedule) = &definition.schedule else { return };
    let (due_at, now) = (timer.due_at.as_millis(), change.now().as_millis());
    let found = due(&schedule.cron, due_at, now, schedule.catch_up);
    if let Some(next) = found.next {
        change.put_timer(Timer {
            due_at: Timestamp::from_millis(next),
            ..timer.clone()
        });
    }
    for nominal in found.fire {
        fire_occurrence(change, definition, timer.key.visit, Timestamp::from_millis(nominal));
    }
}

fn fire_occurrence(change: &mut ExecutionChange<'_, '_>, definition: &Definition, visit: u64, nominal: Timestamp) {
    // An earlier occurrence may have ended the visit or the execution.
    if change.state.execution.visit(visit).is_none() || !change.state.head.status.is_open() {
        return;
    }
    let schedule = definition.schedule.as_ref();
    let overlap = schedule.map_or(Overlap::default(), |schedule| schedule.overlap);
    if overlap == Overlap::Skip && change.state.has_open(&definition.action_id) {
        change.record_overlap(definition, visit, nominal);
        return;
    }
    let action = definition.action_id.clone();
    change.feed(Cause::Occurrence { action, visit, nominal });
}
