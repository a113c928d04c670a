//! Actions: created by triggers, moved along the arrows of their lifecycle, ended once.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::definition::WAIT;
use sprag_core::action::{Action, CancelledBy, Definition, Limit, LimitUse, Status};
use sprag_core::ids::ActionId;
use sprag_core::machine::{Fate, Machine, SkipReason, Trigger};
use sprag_core::time::Timestamp;
use sprag_store::records;

use super::Model;
use super::commit::Commit;
use super::known::KnownAction;
use crate::violation::{Checked, Invariant, Violation, ensure};

impl Model {
    /// The version of the machine whose definition holds for an action.
    pub(super) fn machine_of_action(&self, action: &Action) -> Option<Arc<Machine>> {
        self.versions
            .get(&(action.origin.machine.clone(), action.origin.version))
            .cloned()
    }

    pub(super) fn action_created(
        &mut self,
        commit: &mut Commit<'_>,
        row: &records::Action,
        action: &Action,
    ) -> Checked {
        let id = action.id;
        ensure(!self.actions.contains_key(&id), Invariant::ExactlyOnce, || {
            format!("{id} was created twice")
        })?;
        self.check_triggered_once(action)?;
        commit.before.insert(id, None);
        let known = if action.body.skipped == Some(SkipReason::Overlap) {
            commit.overlapped.push(id);
            KnownAction::new(row.clone(), action.clone(), Vec::new(), commit.around.now)
        } else {
            let place = (action.origin.execution, action.action_id.clone(), action.body.ordinal);
            let Some((trigger, machine)) = commit.triggers.remove(&place) else {
                return Err(Violation::new(
                    Invariant::Replay,
                    format!("{id} was created and nothing triggered it"),
                ));
            };
            let (limits, due_at) = created_by(action, &trigger, &machine, commit.around.now)?;
            let known = KnownAction::new(row.clone(), action.clone(), limits, commit.around.now);
            KnownAction { due_at, ..known }
        };
        self.actions.insert(id, known);
        self.action_moved(commit, None, action)
    }

    /// An occurrence is skipped only while an earlier one is open.
    pub(super) fn check_overlaps(&self, commit: &Commit<'_>) -> Checked {
        for id in &commit.overlapped {
            let action = &self.actions[id].action;
            // One that ended in this very commit may still have been open when the occurrence was due.
            let is_open = |other: &Action| {
                let was = commit.before.get(&other.id).map_or(Some(other), Option::as_ref);
                other.status.is_open() || was.is_none_or(|was| was.status.is_open())
            };
            let mut others = self.actions.values().map(|known| &known.action).filter(|other| {
                other.origin.execution == action.origin.execution
                    && other.action_id == action.action_id
                    && other.body.skipped.is_none()
            });
            let is_right = others.any(is_open) && action.status == Status::Skipped;
            ensure(is_right, Invariant::Lifecycle, || {
                format!("{id} was skipped and nothing was open")
            })?;
        }
        Ok(())
    }

    pub(super) fn action_changed(
        &mut self,
        commit: &mut Commit<'_>,
        row: &records::Action,
        action: &Action,
    ) -> Checked {
        let id = action.id;
        let Some(known) = self.actions.get_mut(&id) else {
            return Err(Violation::new(
                Invariant::AcknowledgedKept,
                format!("{id} changed and was never created"),
            ));
        };
        known.row = row.clone();
        let old = std::mem::replace(&mut known.action, action.clone());
        commit.before.entry(id).or_insert_with(|| Some(old.clone()));
        check_facts(&old, action)?;
        self.action_moved(commit, Some(&old), action)
    }

    fn action_moved(&mut self, commit: &mut Commit<'_>, old: Option<&Action>, new: &Action) -> Checked {
        if let Some(old) = old {
            ensure(is_reachable(old.status, new.status), Invariant::Lifecycle, || {
                format!("{} went from {} to {}", new.id, old.status.word(), new.status.word())
            })?;
            self.check_asked(old, new)?;
            self.revive(commit, old, new);
        }
        self.count_crash(old, new, commit.around.has_refused);
        self.check_attempts(commit, old, new)?;
        if matches!(new.status, Status::Scheduled | Status::Retrying)
            && !new.body.behind
            && let Some(known) = self.actions.get_mut(&new.id)
        {
            known.due_at = known.due_at.max(new.run_at);
            if old.is_some_and(|old| old.status == Status::Running) {
                known.due_at = new.run_at;
            }
        }
        let was_waiting = old.is_some_and(|old| old.status == Status::Queued && old.run_at == new.run_at);
        if let Some(known) = self.actions.get_mut(&new.id).filter(|_| !was_waiting) {
            known.queued_in = self.ticks;
            known.passed_in = None;
        }
        let was_over = old.is_some_and(|old| !old.status.is_open() && old.status == new.status);
        if !new.status.is_open() && !was_over {
            self.owe_end(new);
        }
        Ok(())
    }

    /// Some moves only a person can cause.
    fn check_asked(&self, old: &Action, new: &Action) -> Checked {
        let was_asked = match (old.status, new.status) {
            (Status::Dead, Status::Archived) => self.asked.archive.contains(&new.id),
            (Status::Dead, status) if status != Status::Dead => self.asked.retry_dead.contains(&new.id),
            _ => true,
        };
        ensure(was_asked, Invariant::Lifecycle, || {
            format!("nobody asked for {} to leave the dead", new.id)
        })?;
        let forgot = old.body.cancel.is_some() && new.body.cancel.is_none() && old.status != Status::Dead;
        ensure(!forgot, Invariant::CancelHonoured, || {
            format!("{} was asked to stop and forgot it", new.id)
        })?;
        let lost = old.body.checkpoint.is_some() && new.body.checkpoint.is_none();
        ensure(!lost, Invariant::AcknowledgedKept, || {
            format!("{} lost its checkpoint", new.id)
        })?;
        let by_person = new.body.cancel.is_some_and(|request| request.by == CancelledBy::Person);
        ensure(
            !by_person || self.asked.cancel.contains(&new.id),
            Invariant::CancelHonoured,
            || format!("nobody asked for {} to be cancelled", new.id),
        )
    }

    /// A person gave a dead letter another budget.
    fn revive(&mut self, commit: &Commit<'_>, old: &Action, new: &Action) {
        if old.status != Status::Dead || matches!(new.status, Status::Dead | Status::Archived) {
            return;
        }
        if let Some(known) = self.actions.get_mut(&new.id) {
            known.deadline_from = commit.around.now;
            known.spent = old.attempts_made();
            known.due_at = commit.around.now;
            known.crashes = 0;
            known.is_revived = true;
        }
    }

    /// The machine must hear of the end, where ends are for machines to hear.
    fn owe_end(&mut self, action: &Action) {
        let is_named = || {
            let execution = self.executions.get(&action.origin.execution);
            let version = execution.map(|known| (known.row.machine.clone(), known.version));
            let machine = version.and_then(|version| self.versions.get(&version));
            machine.is_some_and(|machine| machine.skips_named.contains(&action.action_id))
        };
        let is_heard = match action.status {
            Status::Succeeded | Status::Dead => true,
            Status::Cancelled => action
                .body
                .cancel
                .is_some_and(|request| request.by == CancelledBy::Person),
            Status::Skipped => action.body.skipped != Some(SkipReason::Overlap) && is_named(),
            _ => false,
        };
        if is_heard && let Some(known) = self.executions.get_mut(&action.origin.execution) {
            *known
                .owed
                .entry((action.action_id.clone(), action.body.ordinal))
                .or_default() += 1;
        }
    }
}

impl KnownAction {
    fn new(row: records::Action, action: Action, limits: Vec<LimitUse>, now: Timestamp) -> Self {
        Self {
            row,
            action,
            limits,
            deadline_from: now,
            spent: 0,
            due_at: now,
            queued_in: 0,
            passed_in: None,
            begun_in: 0,
            counted_in: 0,
            crashes: 0,
            runs_alone: false,
            is_revived: false,
        }
    }
}

/// An action follows from its trigger: in the status its fate gives it, due when its definition says. Says what it is
/// limited by and when it is due.
fn created_by(
    action: &Action,
    trigger: &Trigger,
    machine: &Machine,
    now: Timestamp,
) -> Result<(Vec<LimitUse>, Timestamp), Violation> {
    let id = action.id;
    let Some(definition) = machine.actions.get(trigger.action) else {
        return Err(Violation::new(Invariant::Replay, format!("{id} has no definition")));
    };
    let same = action.body.visit == trigger.visit && action.body.nominal == trigger.nominal;
    ensure(same, Invariant::Replay, || {
        format!("{id} belongs to another visit or time than its trigger")
    })?;
    let wait = wait_millis(definition, &trigger.fate);
    let expected: &[Status] = match (&trigger.fate, wait) {
        (Fate::Skipped(_), _) => &[Status::Skipped],
        (Fate::Dead(_), _) | (Fate::Ready { .. }, None) => &[Status::Dead],
        (Fate::Ready { .. }, Some(_)) => &[
            Status::Scheduled,
            Status::Queued,
            Status::Running,
            Status::Cancelled,
            Status::Dead,
        ],
    };
    ensure(expected.contains(&action.status), Invariant::Lifecycle, || {
        format!("{id} was created {}", action.status.word())
    })?;
    let delay = if trigger.nominal.is_some() { 0 } else { definition.delay };
    let due_at = now.plus(delay).plus(wait.unwrap_or(0));
    let is_due = due_at <= now || !matches!(action.status, Status::Queued | Status::Running);
    ensure(is_due, Invariant::TimersOnTime, || {
        format!("{id} is due at {due_at} and {}", action.status.word())
    })?;
    Ok((limits_of(machine, definition, &trigger.fate), due_at))
}

/// The limits by the definition, whatever the action says. Where no key could be rendered, those under its own hold.
fn limits_of(machine: &Machine, definition: &Definition, fate: &Fate) -> Vec<LimitUse> {
    let own = || format!("{}/{}", machine.id, definition.action_id);
    let keys: Vec<Option<String>> = match fate {
        Fate::Ready { limit_keys, .. } => limit_keys.iter().cloned().map(Some).collect(),
        Fate::Dead(_) | Fate::Skipped(_) => definition
            .limits
            .iter()
            .map(|limit| limit.key.is_none().then(own))
            .collect(),
    };
    let limits = definition.limits.iter().zip(keys);
    let under = |(limit, key): (&Limit, Option<String>)| {
        Some(LimitUse {
            key: key?,
            concurrency: limit.concurrency,
            rate: limit.rate,
        })
    };
    limits.filter_map(under).collect()
}

/// The milliseconds of a `wait`; none where its configuration names none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the simulator's waits are small"
)]
fn wait_millis(definition: &Definition, fate: &Fate) -> Option<u64> {
    if definition.kind != WAIT {
        return Some(0);
    }
    let config = match fate {
        Fate::Ready {
            frozen: Some(frozen), ..
        } => Some(&frozen.config),
        _ => definition.config.constant(),
    };
    let seconds = config.and_then(|config| config.get("seconds")).and_then(Value::as_f64);
    seconds.map(|seconds| (seconds * 1_000.0) as u64)
}

/// What never changes about an action.
fn check_facts(old: &Action, new: &Action) -> Checked {
    let facts = |action: &Action| {
        let body = &action.body;
        let whose = (
            action.origin.execution,
            action.origin.machine.clone(),
            action.action_id.clone(),
        );
        (
            whose,
            action.kind.clone(),
            action.created_at,
            body.ordinal,
            body.visit,
            body.nominal,
        )
    };
    ensure(facts(old) == facts(new), Invariant::Lifecycle, || {
        format!("{} became another action", new.id)
    })?;
    let raised = new.body.generation > old.body.generation;
    let may_raise = old.status == Status::Dead && new.body.generation == old.body.generation + 1;
    ensure(
        new.body.generation == old.body.generation || (raised && may_raise),
        Invariant::EffectsAccounted,
        || format!("{} got another generation", new.id),
    )
}

/// Whether a status can be reached by arrows of the lifecycle, within one batch.
fn is_reachable(from: Status, to: Status) -> bool {
    const MOVES_MAX: usize = 4;
    let mut reached = vec![from];
    for _ in 0..MOVES_MAX {
        if reached.contains(&to) {
            return true;
        }
        let next = Status::ALL
            .into_iter()
            .filter(|&to| reached.iter().any(|from| from.may_become(to)));
        let next: Vec<Status> = next.collect();
        reached.extend(next);
    }
    reached.contains(&to)
}

/// The name of an action for a text.
pub(super) fn named(id: ActionId, known: &KnownAction) -> String {
    format!("`{}` {id}", known.action.action_id)
}
