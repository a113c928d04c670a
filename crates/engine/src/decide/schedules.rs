//! Schedules whose next occurrence a fast clock computed.
//!
//! The next occurrence is stored when the one before it fires. After a process whose clock was ahead by an hour, or by ten
//! years, a schedule would wait as long. A lane that starts behind its store wakes every schedule once, and a schedule that
//! waits for longer than the real clock says waits for the real clock's next occurrence instead.

use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::records::Timer;

use super::clock::BEHIND_MILLIS;
use super::state::ExecutionState;
use super::{ExecutionChange, Known};

impl Known {
    /// Whether the store holds instants that are ahead of the clock, so that due times may be too.
    pub(crate) fn is_behind(&self, now: Timestamp) -> bool {
        self.control.clock.latest().since(now) > BEHIND_MILLIS
    }
}

impl ExecutionChange<'_, '_> {
    /// Computes the next occurrence of each schedule of the execution anew, where the clock is behind the store.
    pub(crate) fn follow_real_clock(&mut self) {
        let now = self.now();
        if !self.decider.known.is_behind(now) {
            return;
        }
        let waiting: Vec<Timer> = self.state.timers.values().cloned().collect();
        for timer in waiting {
            let next = next_by(now, self.state, self.machine, &timer);
            if let Some(due_at) = next.filter(|next| *next < timer.due_at) {
                self.put_timer(Timer { due_at, ..timer });
            }
        }
    }
}

/// The next occurrence of a schedule by a clock that says `now`. One that is due already fires as it is.
fn next_by(now: Timestamp, state: &ExecutionState, machine: &Machine, timer: &Timer) -> Option<Timestamp> {
    let (_, definition) = machine.action(timer.schedule.as_ref()?)?;
    let visit = state.execution.visit(timer.key.visit)?;
    if timer.due_at <= now {
        return None;
    }
    // A state that was entered under the fast clock counts as entered now.
    let begins = visit.entered_at.min(now).plus(definition.delay);
    let cron = &definition.schedule.as_ref()?.cron;
    cron.next_after(begins.max(now).as_millis()).map(Timestamp::from_millis)
}
