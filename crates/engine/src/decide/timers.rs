//! Timers, schedules and due actions.

use std::sync::Arc;

use sprag_core::action::{Definition, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::{Cause, Machine, TimerKey};
use sprag_core::schedule::{Overlap, due};
use sprag_core::time::Timestamp;
use sprag_store::records::{ExecutionStatus, Timer};
use sprag_store::traits::Variables;
use sprag_store::{Error, records};

use crate::aggregate::Aggregate;
use crate::lane::{Lane, Write};
use crate::metrics::Note;
use crate::options::FOLLOW_UPS_MAX;
use crate::timers::Due;

impl Lane {
    /// A timer may be due. Wake-ups are hints: the decision is taken from the execution's own timers.
    pub(super) fn timer_due(&mut self, key: records::TimerKey) -> Result<(), Error> {
        let Ok(mut aggregate) = self.take(key.execution) else {
            return Ok(());
        };
        if aggregate.is_deciding() {
            let machine = self.machine_of(&aggregate)?;
            self.fire_due(&mut aggregate, &machine);
        }
        self.cache.put(aggregate);
        Ok(())
    }

    /// Fires every timer of the execution that is due now, in due order, up to a bound.
    pub(super) fn fire_due(&mut self, aggregate: &mut Aggregate, machine: &Machine) {
        self.follow_real_clock(aggregate, machine);
        for _ in 0..FOLLOW_UPS_MAX {
            if !aggregate.is_deciding() {
                return;
            }
            let Some(timer) = aggregate.due_timer(self.now) else {
                return;
            };
            self.batch.notes.push(Note::Fired {
                late_millis: self.now.since(timer.due_at),
            });
            match &timer.schedule {
                Some(action_id) => self.fire_schedule(aggregate, machine, &timer, action_id),
                None => self.fire_timer(aggregate, machine, &timer),
            }
        }
        // More is due than one decision may take on: the next batch goes on.
        if let Some(timer) = aggregate.due_timer(self.now) {
            self.batch.due.push((timer.due_at, Due::Timer(timer.key)));
        }
    }

    fn fire_timer(&mut self, aggregate: &mut Aggregate, machine: &Machine, timer: &Timer) {
        let key = TimerKey {
            visit: timer.key.visit,
            index: timer.key.index,
        };
        aggregate.timers.remove(&(key.visit, key.index));
        self.batch.delete_timer(timer.key);
        self.feed(aggregate, machine, Cause::Timer(key));
    }

    fn fire_schedule(&mut self, aggregate: &mut Aggregate, machine: &Machine, timer: &Timer, action_id: &str) {
        aggregate.timers.remove(&(timer.key.visit, timer.key.index));
        self.batch.delete_timer(timer.key);
        let Some((_, definition)) = machine.action(action_id) else {
            return;
        };
        let Some(schedule) = &definition.schedule else { return };
        let found = due(
            &schedule.cron,
            timer.due_at.as_millis(),
            self.now.as_millis(),
            schedule.catch_up,
        );
        if let Some(next) = found.next {
            let timer = Timer {
                due_at: Timestamp::from_millis(next),
                ..timer.clone()
            };
            aggregate
                .timers
                .insert((timer.key.visit, timer.key.index), timer.clone());
            self.batch.put_timer(timer);
        }
        for nominal in found.fire {
            let nominal = Timestamp::from_millis(nominal);
            self.fire_occurrence(aggregate, machine, definition, (timer.key.visit, nominal));
        }
    }

    fn fire_occurrence(
        &mut self,
        aggregate: &mut Aggregate,
        machine: &Machine,
        definition: &Definition,
        (visit, nominal): (u64, Timestamp),
    ) {
        // An earlier occurrence may have ended the visit or the execution.
        if aggregate.execution.visit(visit).is_none() || !aggregate.head.status.is_open() {
            return;
        }
        let overlap = definition
            .schedule
            .as_ref()
            .map_or(Overlap::default(), |schedule| schedule.overlap);
        if overlap == Overlap::Skip && aggregate.has_open(&definition.action_id) {
            self.record_overlap(aggregate, definition, visit, nominal);
            return;
        }
        let action = definition.action_id.clone();
        self.feed(aggregate, machine, Cause::Occurrence { action, visit, nominal });
    }

    /// A scheduled or retrying action is due: it joins its line.
    pub(super) fn action_due(&mut self, execution: ExecutionId, id: ActionId) {
        let Ok(mut aggregate) = self.take(execution) else {
            return;
        };
        let paused = aggregate.head.status == ExecutionStatus::Paused;
        if let Some(action) = aggregate.actions.get_mut(&id)
            && matches!(action.status, Status::Scheduled | Status::Retrying)
            && action.run_at <= self.now
            && Arc::make_mut(action).make_ready(self.now).is_ok()
        {
            let action = Arc::clone(action);
            if !paused {
                self.dispatcher.join(&action);
            }
            self.batch.put_action(Write::Update(Variables::Unchanged), action);
        }
        self.cache.put(aggregate);
    }
}
