//! Schedules whose next occurrence a fast clock computed.
//!
//! The next occurrence is stored when the one before it fires. After a process whose clock was ahead by an hour, or by ten
//! years, a schedule would wait as long. So a lane that begins behind its store looks at every schedule once, and one that
//! waits for longer than the real clock says waits for the real clock's next occurrence instead.

use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_store::Error;
use sprag_store::Page;
use sprag_store::records::Timer;
use sprag_store::traits::ShardId;

use super::Lane;
use crate::aggregate::Aggregate;
use crate::control::BEHIND_MILLIS;

/// Timers that are read at once.
const PAGE: usize = 1_000;

impl Lane {
    /// Whether the store bears instants that are ahead of the clock, so that due times may be too.
    fn is_behind(&self) -> bool {
        self.control.clock.latest().since(self.now) > BEHIND_MILLIS
    }

    /// Has every schedule that waits looked at, where the clock is behind the store.
    pub(super) fn wake_schedules(&mut self) -> Result<(), Error> {
        if !self.is_behind() {
            return Ok(());
        }
        let shards: Vec<ShardId> = self.owned.all().collect();
        shards.into_iter().try_for_each(|shard| self.wake_schedules_of(shard))
    }

    fn wake_schedules_of(&mut self, shard: ShardId) -> Result<(), Error> {
        let mut page = Page::first(PAGE);
        loop {
            let found = self.store.get()?.due_timers(shard, Timestamp::MAX, &page)?.rows;
            for timer in found.iter().filter(|timer| timer.schedule.is_some()) {
                self.timers.wake(timer.key, self.now);
            }
            if found.len() < PAGE {
                return Ok(());
            }
            page.after = found.last().map(|last| (last.due_at, last.key));
        }
    }

    /// Computes the next occurrence of each schedule of an execution anew, where the clock is behind the store.
    pub(crate) fn follow_real_clock(&mut self, aggregate: &mut Aggregate, machine: &Machine) {
        if !self.is_behind() {
            return;
        }
        let waiting: Vec<Timer> = aggregate.timers.values().cloned().collect();
        for timer in waiting {
            let next = next_by(self.now, aggregate, machine, &timer);
            if let Some(due_at) = next.filter(|next| *next < timer.due_at) {
                let timer = Timer { due_at, ..timer };
                aggregate
                    .timers
                    .insert((timer.key.visit, timer.key.index), timer.clone());
                self.batch.put_timer(timer);
            }
        }
    }
}

/// The next occurrence of a schedule by a clock that says `now`. One that is due already fires as it is.
fn next_by(now: Timestamp, aggregate: &Aggregate, machine: &Machine, timer: &Timer) -> Option<Timestamp> {
    let (_, definition) = machine.action(timer.schedule.as_ref()?)?;
    let visit = aggregate.execution.visit(timer.key.visit)?;
    if timer.due_at <= now {
        return None;
    }
    // A state that was entered under the fast clock counts as entered now.
    let begins = visit.entered_at.min(now).plus(definition.delay);
    let cron = &definition.schedule.as_ref()?.cron;
    cron.next_after(begins.max(now).as_millis()).map(Timestamp::from_millis)
}
