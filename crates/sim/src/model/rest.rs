//! What must happen in time: due times are woken for, startable work starts, everything comes to rest.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::{LimitUse, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::time::Timestamp;
use sprag_engine::requests::AttemptRef;
use sprag_store::records::ExecutionStatus;

use super::Model;
use super::actions::named;
use super::commit::is_deciding;
use super::known::KnownAction;
use crate::violation::{Checked, Invariant, Violation, ensure};

/// A cancelled attempt that has not ended after this time is given up, in milliseconds.
const CANCEL_GRACE_MILLIS: u64 = 10_000;

impl Model {
    /// When the first thing is due that the lane must do by itself.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.next_due_beside(&BTreeSet::new())
    }

    /// The same, of all executions but those that the lane leaves alone.
    fn next_due_beside(&self, left_alone: &BTreeSet<ExecutionId>) -> Option<Timestamp> {
        let deciding = self
            .executions
            .iter()
            .filter(|&(id, known)| is_deciding(known.status) && !left_alone.contains(id));
        let timers = deciding
            .flat_map(|(_, known)| known.timers.values())
            .map(|timer| timer.due_at);
        let waiting = self
            .actions
            .values()
            .map(|known| &known.action)
            .filter(|action| !left_alone.contains(&action.origin.execution))
            .filter(|action| matches!(action.status, Status::Scheduled | Status::Retrying) && !action.body.behind);
        timers.chain(waiting.map(|action| action.run_at)).min()
    }

    /// A lane that sleeps until `wake` misses nothing that is due, and leaves nothing that could start, but of executions
    /// whose next step the store refused.
    pub(crate) fn check_sleep(&self, now: Timestamp, wake: Timestamp, left_alone: &BTreeSet<ExecutionId>) -> Checked {
        if wake <= now {
            return Ok(());
        }
        let due = self.next_due_beside(left_alone);
        ensure(due.is_none_or(|due| wake <= due), Invariant::TimersOnTime, || {
            format!("the lane sleeps until {wake}, something is due at {due:?}")
        })?;
        if self.is_closing {
            return Ok(());
        }
        match self.startable(now, left_alone) {
            Some((id, known)) => {
                let detail = format!("the lane sleeps and {} could start", named(*id, known));
                Err(Violation::new(Invariant::Settles, detail))
            }
            None => Ok(()),
        }
    }

    /// A queued action that lacks nothing.
    fn startable(&self, now: Timestamp, left_alone: &BTreeSet<ExecutionId>) -> Option<(&ActionId, &KnownAction)> {
        let running: Vec<&KnownAction> = self
            .actions
            .values()
            .filter(|known| known.action.status == Status::Running)
            .collect();
        // A suspect keeps everything else waiting, also while another process finds out what became of it.
        let is_alone = |known: &&KnownAction| known.runs_alone || known.crashes >= super::limits::SUSPECT_AFTER;
        if running.len() >= self.caps.total || running.iter().any(is_alone) {
            return None;
        }
        self.actions.iter().find(|(_, known)| {
            let action = &known.action;
            let execution = self.executions.get(&action.origin.execution).map(|known| known.status);
            let cap = self.caps.per_type.get(&action.kind).copied().unwrap_or(usize::MAX);
            action.status == Status::Queued
                && !left_alone.contains(&action.origin.execution)
                && execution != Some(ExecutionStatus::Paused)
                && action.body.destination.is_none()
                && action.body.runner.is_none()
                && known.crashes < super::limits::SUSPECT_AFTER
                && self.may_pass(action, now)
                && running.iter().filter(|other| other.action.kind == action.kind).count() < cap
                && known.limits.iter().all(|limit| has_room(limit, &running))
                && self.is_alike_in_line(known)
        })
    }

    /// Whether all that ever stood in the same line have the same limits: a tighter one may hold the line back.
    fn is_alike_in_line(&self, known: &KnownAction) -> bool {
        let line = known.action.line();
        let beside = self.actions.values().filter(|other| other.action.line() == line);
        known.limits.is_empty() || beside.into_iter().all(|other| other.limits == known.limits)
    }

    /// An attempt that was asked to stop has ended in time, as far as this process could know since `opened_at`.
    pub(crate) fn check_stopped(
        &self,
        now: Timestamp,
        opened_at: Timestamp,
        left_alone: &BTreeSet<ExecutionId>,
    ) -> Checked {
        let served = |known: &KnownAction| !left_alone.contains(&known.action.origin.execution);
        for (id, known) in self.actions.iter().filter(|&(_, known)| served(known)) {
            let asked = known
                .action
                .body
                .cancel
                .map(|request| request.at)
                .filter(|&at| at > opened_at);
            let is_late = asked.is_some_and(|at| at.plus(CANCEL_GRACE_MILLIS) <= now);
            ensure(
                !(is_late && known.action.status == Status::Running),
                Invariant::CancelHonoured,
                || format!("{} was asked to stop at {asked:?} and runs at {now}", named(*id, known)),
            )?;
        }
        Ok(())
    }

    /// Attempts whose end was reported to a process have ended, also where the store refused the report.
    pub(crate) fn check_ended(&self, reported: &[AttemptRef]) -> Checked {
        for at in reported {
            let running = self.actions.get(&at.action).and_then(|known| known.action.current());
            let has_ended = running.is_none_or(|running| running.id != at.attempt);
            ensure(has_ended, Invariant::Isolation, || {
                format!("the end of {} was reported, and it runs still", at.attempt)
            })?;
        }
        Ok(())
    }

    /// Whether nothing is left that would happen by itself before `until`.
    pub(crate) fn is_at_rest(&self, until: Timestamp) -> bool {
        let is_open = self.actions.values().any(|known| known.action.status.is_open());
        !is_open && self.next_due().is_none_or(|due| due > until)
    }

    /// What did not come to rest, by status.
    pub(crate) fn unrest(&self, now: Timestamp) -> String {
        let mut open: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for (id, known) in self.actions.iter().filter(|(_, known)| known.action.status.is_open()) {
            let status = self
                .executions
                .get(&known.action.origin.execution)
                .map_or("", |known| known.status.word());
            let text = format!("{} in a {status} execution", named(*id, known));
            open.entry(known.action.status.word()).or_default().push(text);
        }
        format!(
            "at {now} open actions are {open:?}, the next is due at {:?}",
            self.next_due()
        )
    }

    /// After everything came to rest, no execution stands still without a reason.
    pub(crate) fn check_reasons(&self) -> Checked {
        for (id, known) in &self.executions {
            let waits = known.inbox.len();
            ensure(waits == 0 || !is_deciding(known.status), Invariant::Settles, || {
                format!("{id} is running and {waits} inputs wait")
            })?;
        }
        Ok(())
    }
}

/// Whether one more may start under a limit. A rate is left out: only the lane knows what is left of it.
fn has_room(limit: &LimitUse, running: &[&KnownAction]) -> bool {
    let used = running
        .iter()
        .filter(|known| known.limits.iter().any(|held| held.key == limit.key))
        .count();
    limit.rate.is_none()
        && limit
            .concurrency
            .is_none_or(|most| used < usize::try_from(most).unwrap_or(usize::MAX))
}
