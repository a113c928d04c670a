//! Timers and schedules of all executions: what is due, and what was missed.

use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;
use sprag_core::time::schedule::Cron;
use sprag_store::page::continued;
use sprag_store::records::Timer;
use sprag_store::traits::{Reader, TimerPosition};
use sprag_store::{Error, Page, Paged, ReadKind};
use sprag_wire::{DueTimer, ScheduledAction};

use super::handle::ReadHandle;
use super::lookup::LookupHandle;
use crate::decide::convert;
use crate::lane::damaged;
use crate::requests::Refusal;

/// Occurrences that are shown of a schedule.
const NEXT_MAX: usize = 5;

impl LookupHandle<'_> {
    /// Timers that are due by an instant, earliest first.
    pub async fn timers_until<T: Send + 'static>(
        &self,
        until: Timestamp,
        page: Page<TimerPosition>,
        mut show: impl FnMut(DueTimer) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, TimerPosition>, Refusal> {
        let (read, handle) = (self.0.read(), self.0.read().clone());
        read.query(ReadKind::Scan, move |reader| {
            let found = reader.timers_until(until, &page)?;
            each(
                &found,
                |timer| Ok(due(&handle, reader, timer)?.map(|(due, _)| due)),
                &mut show,
            )
        })
        .await
    }

    /// Schedules, by their next occurrence.
    pub async fn schedules<T: Send + 'static>(
        &self,
        page: Page<TimerPosition>,
        mut show: impl FnMut(ScheduledAction) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, TimerPosition>, Refusal> {
        let (read, handle) = (self.0.read(), self.0.read().clone());
        read.query(ReadKind::Scan, move |reader| {
            let found = reader.schedules(&page)?;
            each(&found, |timer| scheduled(&handle, reader, timer), &mut show)
        })
        .await
    }
}

/// A page of what `make` makes of timers, until `show` has no room for one.
fn each<V, T>(
    found: &Paged<Timer, TimerPosition>,
    mut make: impl FnMut(&Timer) -> Result<Option<V>, Error>,
    show: &mut impl FnMut(V) -> Option<T>,
) -> Result<Paged<T, TimerPosition>, Error> {
    let (mut positions, mut rows) = (Vec::new(), Vec::new());
    for timer in &found.rows {
        // Its execution may have gone since the timers were read.
        let Some(view) = make(timer)? else { continue };
        positions.push((timer.due_at, timer.key));
        let Some(shown) = show(view) else { break };
        rows.push(shown);
    }
    Ok(Paged {
        next: continued(&positions, &rows, found.next),
        rows,
    })
}

/// A timer with whose it is, and the machine that decides.
fn due(
    handle: &ReadHandle,
    reader: &dyn Reader,
    timer: &Timer,
) -> Result<Option<(DueTimer, std::sync::Arc<Machine>)>, Error> {
    let Some(row) = reader.execution(timer.key.execution)? else {
        return Ok(None);
    };
    let state = convert::execution_of(row).map_err(|error| damaged(&error))?;
    let machine = handle.compiled(reader, &state)?;
    let visit = state.execution.visit(timer.key.visit);
    let shown = DueTimer {
        execution_id: state.head.id,
        key: state.head.key.clone(),
        machine: state.head.machine.to_string(),
        version: state.head.version,
        state: visit.map(|visit| machine.display_path(visit.state).to_owned()),
        action_id: timer.schedule.clone(),
        due_at: timer.due_at,
        late: handle.clock.now().since(timer.due_at),
    };
    Ok(Some((shown, machine)))
}

/// A schedule with its occurrences; none if the machine no longer has it.
pub(super) fn scheduled(
    handle: &ReadHandle,
    reader: &dyn Reader,
    timer: &Timer,
) -> Result<Option<ScheduledAction>, Error> {
    let Some((shown, machine)) = due(handle, reader, timer)? else {
        return Ok(None);
    };
    let action = shown.action_id.as_deref().unwrap_or_default();
    let schedule = machine
        .action(action)
        .and_then(|(_, definition)| definition.schedule.as_ref());
    let Some(schedule) = schedule else { return Ok(None) };
    let now = handle.clock.now();
    Ok(Some(ScheduledAction {
        cron: schedule.cron.to_string(),
        time_zone: schedule.cron.time_zone().to_owned(),
        next: occurrences(&schedule.cron, timer.due_at, now),
        missed: missed(&schedule.cron, timer.due_at, now),
        catch_up: schedule.catch_up.into(),
        timer: shown,
    }))
}

/// The next occurrences: from the stored one on, if it is still to come.
fn occurrences(cron: &Cron, due_at: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let (due_at, now) = (due_at.as_millis(), now.as_millis());
    let first = if due_at > now {
        Some(due_at)
    } else {
        cron.next_after(now)
    };
    let all = std::iter::successors(first, |at| cron.next_after(*at));
    all.take(NEXT_MAX).map(Timestamp::from_millis).collect()
}

/// How many occurrences are overdue: the stored one, and those that followed.
fn missed(cron: &Cron, due_at: Timestamp, now: Timestamp) -> u64 {
    let (due_at, now) = (due_at.as_millis(), now.as_millis());
    if due_at > now {
        return 0;
    }
    cron.count_between(due_at, now.saturating_add(1)).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overdue_occurrences_are_counted_and_the_next_ones_follow_now() {
        let cron = Cron::parse("*/10 * * * *", None).unwrap();
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        let missed_at = |due, now| missed(&cron, at(due), at(now));
        assert_eq!((missed_at(10, 9), missed_at(10, 10), missed_at(10, 35)), (0, 1, 3));
        assert_eq!(occurrences(&cron, at(10), at(35)), [40, 50, 60, 70, 80].map(at));
        assert_eq!(occurrences(&cron, at(50), at(35)), [50, 60, 70, 80, 90].map(at));
    }
}
