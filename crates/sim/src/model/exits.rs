//! What leaving a state does to its actions, and how occurrences queue.

use sprag_core::action::{Action, CancelledBy, OnExit, Status};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::Machine;
use sprag_core::time::Timestamp;

use super::Model;
use super::actions::named;
use super::commit::Commit;
use crate::violation::{Checked, Invariant, ensure};

impl Model {
    /// Whatever belonged to a visit that ended goes or stays as its definition says.
    pub(super) fn check_exits(&self, commit: &Commit<'_>) -> Checked {
        for (execution, visit, machine) in &commit.ended_visits {
            for (&id, known) in &self.actions {
                if known.action.origin.execution == *execution && known.action.body.visit == Some(*visit) {
                    self.check_exit(commit, id, machine)?;
                }
            }
        }
        Ok(())
    }

    fn check_exit(&self, commit: &Commit<'_>, id: ActionId, machine: &Machine) -> Checked {
        let known = &self.actions[&id];
        let now = &known.action;
        // An action that this commit did not write is as it was.
        let before = commit.before.get(&id).map_or(Some(now), Option::as_ref);
        let was_open = before.is_none_or(|before| before.status.is_open());
        if !was_open {
            return Ok(());
        }
        let on_exit = machine
            .action(&now.action_id)
            .map_or(OnExit::default(), |(_, definition)| definition.on_exit);
        let is_right = match on_exit {
            OnExit::Keep => is_kept(commit, before, now),
            OnExit::CancelNotDue => {
                !is_waiting(before.unwrap_or(now), commit.around.now) || self.has_ended(commit, now)
            }
            OnExit::Cancel => has_stopped(now),
        };
        ensure(is_right, Invariant::CancelHonoured, || {
            format!("{} is {} after its state was left", named(id, known), now.status.word())
        })
    }

    /// What was not due when its state was left is over, unless it became due or ended in the same batch before.
    fn has_ended(&self, commit: &Commit<'_>, action: &Action) -> bool {
        let was_released = || {
            // An occurrence that queued may have been let go by the end of the one before it.
            let ended_before = |id: &ActionId| {
                self.actions.get(id).map(|known| &known.action).is_some_and(|other| {
                    let by_machine = other
                        .body
                        .cancel
                        .is_some_and(|request| request.by == CancelledBy::Machine);
                    other.action_id == action.action_id && !other.status.is_open() && !by_machine
                })
            };
            action.run_at <= commit.around.now && commit.before.keys().any(ended_before)
        };
        let was_hurried = self.asked.retry_now.contains(&action.id);
        action.status == Status::Cancelled || was_hurried || was_released()
    }

    /// An occurrence waits behind another only while there is one before it, and the earliest goes first.
    pub(super) fn check_behind(&self, execution: ExecutionId) -> Checked {
        let mine = || {
            self.actions
                .values()
                .filter(|known| known.action.origin.execution == execution)
        };
        for known in mine().filter(|known| known.action.body.behind && known.action.status.is_open()) {
            let action = &known.action;
            let others = || {
                mine()
                    .map(|known| &known.action)
                    .filter(|other| other.action_id == action.action_id)
            };
            let is_blocked = others().any(|other| other.status.is_open() && !other.body.behind);
            ensure(is_blocked, Invariant::Settles, || {
                format!("{} waits behind nobody", named(action.id, known))
            })?;
            let overtaken = others().any(|other| {
                let is_later = other.body.ordinal > action.body.ordinal && other.body.nominal.is_some();
                is_later
                    && !other.body.behind
                    && !matches!(other.status, Status::Cancelled | Status::Skipped | Status::Dead)
            });
            ensure(!overtaken, Invariant::OverlapQueued, || {
                format!("{} was overtaken", named(action.id, known))
            })?;
        }
        self.check_one_at_a_time(execution)
    }

    fn check_one_at_a_time(&self, execution: ExecutionId) -> Checked {
        use sprag_core::time::schedule::Overlap;
        let open = self.actions.iter().filter(|(_, known)| {
            let action = &known.action;
            action.origin.execution == execution
                && action.status.is_open()
                && action.body.nominal.is_some()
                && !action.body.behind
                && !known.is_revived
        });
        let mut seen: Vec<&str> = Vec::new();
        for (id, known) in open {
            let machine = self.machine_of_action(&known.action);
            let overlap = machine.as_ref().and_then(|machine| {
                let (_, definition) = machine.action(&known.action.action_id)?;
                definition.schedule.as_ref().map(|schedule| schedule.overlap)
            });
            if overlap == Some(Overlap::Queue) {
                let is_first = !seen.contains(&known.action.action_id.as_str());
                ensure(is_first, Invariant::OverlapQueued, || {
                    format!("{} runs beside another", named(*id, known))
                })?;
                seen.push(&known.action.action_id);
            }
        }
        Ok(())
    }
}

/// A kept action is cancelled by its machine only where a step says so by name.
fn is_kept(commit: &Commit<'_>, before: Option<&Action>, now: &Action) -> bool {
    let was_asked = before.is_some_and(|before| before.body.cancel.is_some());
    let by_machine = now
        .body
        .cancel
        .is_some_and(|request| request.by == CancelledBy::Machine);
    was_asked
        || !by_machine
        || commit
            .cancelled
            .contains(&(now.origin.execution, now.action_id.clone()))
}

/// Whether an action waits for its time, and that has not come.
fn is_waiting(action: &Action, now: Timestamp) -> bool {
    action.status == Status::Scheduled && action.run_at > now
}

/// Whether an action is over, or was asked to be.
fn has_stopped(action: &Action) -> bool {
    !action.status.is_open() || action.body.cancel.is_some()
}
