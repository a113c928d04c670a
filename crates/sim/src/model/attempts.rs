//! Attempts: each recorded, each after the last one ended, each ended as a runner reported.

use sprag_core::action::error::kind;
use sprag_core::action::{Action, AttemptRecord, Definition, Failure, OnUnknown, Outcome, Status, Verdict};
use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::Model;
use super::commit::Commit;
use super::policy::{Failed, expected};
use crate::violation::{Checked, Invariant, Violation, ensure};
use crate::world::Effect;

/// A cancelled attempt that does not end in this time is given up, in milliseconds.
const CANCEL_GRACE_MILLIS: u64 = 10_000;

impl Model {
    pub(super) fn check_attempts(&mut self, commit: &mut Commit<'_>, old: Option<&Action>, new: &Action) -> Checked {
        let before = old.map(|old| old.body.attempts.as_slice()).unwrap_or_default();
        let after = new.body.attempts.as_slice();
        let account = |detail: &str| Violation::new(Invariant::EffectsAccounted, format!("{}: {detail}", new.id));
        if after.len() < before.len() || after.len() > before.len() + 1 {
            return Err(account("attempts vanished, or several began at once"));
        }
        for (was, is) in before.iter().zip(after) {
            let same = (was.id, was.number, was.start_time) == (is.id, is.number, is.start_time);
            let kept = was.end_time.is_none() || was == is;
            ensure(same && kept, Invariant::EffectsAccounted, || {
                format!("{}: an attempt was rewritten", new.id)
            })?;
            if was.end_time.is_none() && is.end_time.is_some() {
                self.attempt_ended(commit, new, is)?;
            }
        }
        match after.get(before.len()) {
            Some(begun) => {
                // As this commit left it: an attempt may end and the next begin in one.
                let last = before.len().checked_sub(1).and_then(|place| after.get(place));
                self.attempt_begun(commit, (old, last), new, begun)
            }
            None => Ok(()),
        }
    }

    fn attempt_begun(
        &mut self,
        commit: &mut Commit<'_>,
        (old, last): (Option<&Action>, Option<&AttemptRecord>),
        new: &Action,
        begun: &AttemptRecord,
    ) -> Checked {
        let id = new.id;
        let now = commit.around.now;
        let starts = new.status == Status::Running && begun.end_time.is_none() && begun.start_time == now;
        ensure(starts, Invariant::EffectsAccounted, || {
            format!("{id}: an attempt began and is not under way")
        })?;
        let is_next = begun.number == last.map_or(1, |last| last.number + 1);
        ensure(is_next, Invariant::EffectsAccounted, || {
            format!("{id}: attempt {} is not the next", begun.number)
        })?;
        let follows = last.is_none_or(|last| matches!(last.outcome, Some(Verdict::NotDone | Verdict::Unknown)));
        ensure(follows, Invariant::EffectsAccounted, || {
            format!("{id}: repeated after {last:?}")
        })?;
        self.check_step(new, begun)?;
        self.check_lease(new, begun)?;
        self.check_begin((old, last), new, now)?;
        let execution = self.executions.get(&new.origin.execution).map(|known| known.status);
        ensure(
            execution != Some(ExecutionStatus::Paused),
            Invariant::HeldStands,
            || format!("{id} began an attempt in a paused execution"),
        )?;
        ensure(!self.is_closing, Invariant::HeldStands, || {
            format!("{id} began although its process goes down")
        })?;
        commit.begun.push(id);
        let life = self.life;
        if let Some(known) = self.actions.get_mut(&id) {
            known.begun_in = life;
            known.counted_in = life;
            known.runs_alone = known.crashes >= super::limits::SUSPECT_AFTER;
        }
        Ok(())
    }

    /// An attempt of a program's is stored with its lease, and no other is.
    fn check_lease(&self, new: &Action, begun: &AttemptRecord) -> Checked {
        let runner = self
            .with_definition(new)
            .and_then(|(_, definition)| definition.runner.as_ref());
        ensure(
            runner.is_some() == begun.lease.is_some(),
            Invariant::AttemptBeforeEffect,
            || format!("{} is for {runner:?} and began with {:?}", new.id, begun.lease),
        )
    }

    /// A lease is lost once its holder was silent for its whole lease: not before, not by a restart.
    fn is_lease_lost(&self, commit: &Commit<'_>, new: &Action, ended: &AttemptRecord) -> bool {
        let Some(lease) = &ended.lease else { return false };
        let begun_in = self.actions.get(&new.id).map_or(0, |known| known.begun_in);
        let told = commit.around.promised.get(&ended.id).copied();
        let anew = (begun_in < self.life).then(|| lease.renewed(self.opened_at).until);
        let until = [Some(lease.until), told, anew].into_iter().flatten().max();
        is_of(commit, ended, kind::TIMEOUT) && until.is_some_and(|until| until <= commit.around.now)
    }

    /// Whether an attempt may begin now: due, within its deadline and its budget, and wanted.
    fn check_begin(
        &mut self,
        (old, last): (Option<&Action>, Option<&AttemptRecord>),
        new: &Action,
        now: Timestamp,
    ) -> Checked {
        let id = new.id;
        let was_hurried = self.asked.retry_now.contains(&id);
        let Some((known, definition)) = self.with_definition(new) else {
            return Ok(());
        };
        ensure(known.due_at <= now || was_hurried, Invariant::TimersOnTime, || {
            format!("{id} is due at {} and began at {now}", known.due_at)
        })?;
        let deadline = definition.deadline.map(|deadline| known.deadline_from.plus(deadline));
        ensure(
            deadline.is_none_or(|deadline| now < deadline),
            Invariant::Deadlines,
            || format!("{id} began at {now}, its deadline was {deadline:?}"),
        )?;
        let made = new.attempts_made().saturating_sub(known.spent);
        ensure(made <= definition.policy.max_attempts, Invariant::RetryPolicy, || {
            format!("{id} began attempt {made}")
        })?;
        let was_unknown = last.is_some_and(|last| last.outcome == Some(Verdict::Unknown));
        let asks_person = was_unknown && definition.on_unknown == OnUnknown::Review && made > 1;
        ensure(!asks_person, Invariant::EffectsAccounted, || {
            format!("{id} repeated what a person was to judge")
        })?;
        let was_stopped = old.is_some_and(|old| old.body.cancel.is_some() && old.status != Status::Dead);
        ensure(!was_stopped, Invariant::CancelHonoured, || {
            format!("{id} began although it was asked to stop")
        })
    }

    fn with_definition(&self, action: &Action) -> Option<(&super::KnownAction, &Definition)> {
        let version = (action.origin.machine.clone(), action.origin.version);
        let (_, definition) = self.versions.get(&version)?.action(&action.action_id)?;
        Some((self.actions.get(&action.id)?, definition))
    }

    fn attempt_ended(&mut self, commit: &Commit<'_>, new: &Action, ended: &AttemptRecord) -> Checked {
        let id = new.id;
        let now = commit.around.now;
        let outcome = self.outcome_of(commit, new, ended)?;
        let failure = match outcome {
            Outcome::Done(_) => {
                self.reset_crashes(id);
                return ensure(new.status == Status::Succeeded, Invariant::Lifecycle, || {
                    format!("{id} was done and is {}", new.status.word())
                });
            }
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => failure,
        };
        if failure.error.kind != kind::CRASHED {
            self.reset_crashes(id);
        }
        if new.body.cancel.is_some() {
            return ensure(new.status == Status::Cancelled, Invariant::CancelHonoured, || {
                format!("{id} was to stop and is {}", new.status.word())
            });
        }
        let may_be_killer = failure.error.kind == kind::CRASHED && new.status == Status::Dead;
        let was_hurried = self.asked.retry_now.contains(&id);
        let Some((known, definition)) = self.with_definition(new) else {
            return Ok(());
        };
        let failed = Failed {
            policy: &definition.policy,
            on_unknown: definition.on_unknown,
            verdict: ended.outcome.unwrap_or(Verdict::Unknown),
            failure: &failure,
            attempt: new.attempts_made().saturating_sub(known.spent),
            now,
            deadline: definition.deadline.map(|deadline| known.deadline_from.plus(deadline)),
        };
        let expected = expected(&failed);
        let is_killer = may_be_killer && known.crashes >= super::limits::DEAD_AFTER;
        let is_so = expected.allows(new.status, new.run_at) || is_killer || (was_hurried && new.status.is_open());
        ensure(is_so, Invariant::RetryPolicy, || {
            format!(
                "{id} is {} at {} after attempt {}, due is {expected:?}",
                new.status.word(),
                new.run_at,
                ended.number
            )
        })
    }

    /// What the recorded outcome rests on: a report, a process that died, or a cancellation that was not heeded.
    fn outcome_of(&self, commit: &Commit<'_>, new: &Action, ended: &AttemptRecord) -> Result<Outcome, Violation> {
        let verdict = ended.outcome;
        let kind = ended.error.as_ref().map(|error| error.kind.as_str());
        let is_it = |outcome: &&Outcome| {
            let error = match outcome {
                Outcome::Done(_) => None,
                Outcome::NotDone(failure) | Outcome::Unknown(failure) => Some(failure.error.kind.as_str()),
            };
            Some(outcome.verdict()) == verdict && error == kind
        };
        let reports = commit.around.reports.get(&ended.id);
        if let Some(reported) = reports.and_then(|reports| reports.iter().find(is_it)) {
            return Ok(reported.clone());
        }
        if let Some(stand_in) = stand_in(commit, ended, reports) {
            return Ok(stand_in);
        }
        let begun_in = self.actions.get(&new.id).map_or(0, |known| known.begun_in);
        let died = kind == Some(kind::CRASHED) && begun_in < self.life && ended.lease.is_none();
        let lost = self.is_lease_lost(commit, new, ended);
        let asked_at = new.body.cancel.map(|request| request.at.plus(CANCEL_GRACE_MILLIS));
        let ignored = is_of(commit, ended, kind::TIMEOUT) && asked_at.is_some_and(|at| at <= commit.around.now);
        // A node that may have lost its lease before an attempt of its own began does not begin it.
        let is_unstarted = self.is_shared() && !commit.around.started.contains(&ended.id);
        let held_back = is_unstarted && is_of(commit, ended, kind::TEMPORARY_FAILURE);
        // If the store refused the outcome, the attempt ended with its replacement.
        let told = |outcome: Outcome| {
            if is_stand_in(commit, ended) {
                outcome.not_stored()
            } else {
                outcome
            }
        };
        match &ended.error {
            Some(error) if verdict == Some(Verdict::Unknown) && (died || ignored || lost) => {
                Ok(told(Outcome::Unknown(Failure::new(error.clone()))))
            }
            Some(error) if verdict == Some(Verdict::NotDone) && held_back => {
                Ok(told(Outcome::NotDone(Failure::new(error.clone()))))
            }
            _ => {
                let detail = format!("{}: nobody reported {verdict:?} {kind:?} of {}", new.id, ended.id);
                Err(Violation::new(Invariant::EffectsAccounted, detail))
            }
        }
    }

    fn reset_crashes(&mut self, id: ActionId) {
        if let Some(known) = self.actions.get_mut(&id) {
            known.crashes = 0;
        }
    }

    /// An effect that arrived belongs to a stored attempt, under its action's key, and is never called "not done".
    pub(crate) fn check_effect(&self, effect: &Effect) -> Checked {
        let Effect {
            attempt, action, key, ..
        } = effect;
        let Some(known) = self.actions.get(action) else {
            return Err(Violation::new(
                Invariant::EffectsAccounted,
                format!("an effect of unknown action {action}"),
            ));
        };
        let record = known.action.body.attempts.iter().find(|record| record.id == *attempt);
        let Some(record) = record else {
            let detail = format!("an effect of {attempt}, which {action} does not know");
            return Err(Violation::new(Invariant::EffectsAccounted, detail));
        };
        ensure(
            record.outcome != Some(Verdict::NotDone),
            Invariant::EffectsAccounted,
            || format!("{attempt} had an effect and is recorded as not done"),
        )?;
        let is_key = key.strip_prefix(&format!("{action}.")).is_some_and(|generation| {
            generation
                .parse()
                .is_ok_and(|number: u32| number <= known.action.body.generation)
        });
        ensure(is_key, Invariant::EffectsAccounted, || {
            format!("{attempt} acted under the key `{key}`")
        })
    }
}

/// What stands in for a report that the store refused: it says as much about the effect as the report did.
fn stand_in(commit: &Commit<'_>, ended: &AttemptRecord, reports: Option<&Vec<Outcome>>) -> Option<Outcome> {
    if !is_stand_in(commit, ended) {
        return None;
    }
    let mut said = reports.into_iter().flatten().map(Outcome::not_stored);
    said.find(|stand_in| Some(stand_in.verdict()) == ended.outcome)
}

/// Whether an attempt ended with the replacement of an outcome that the store refused.
fn is_stand_in(commit: &Commit<'_>, ended: &AttemptRecord) -> bool {
    let kind = ended.error.as_ref().map(|error| error.kind.as_str());
    commit.around.has_refused && kind == Some(kind::OUTCOME_REFUSED)
}

/// Whether an attempt ended with an error of a kind, or with its replacement.
fn is_of(commit: &Commit<'_>, ended: &AttemptRecord, wanted: &str) -> bool {
    let kind = ended.error.as_ref().map(|error| error.kind.as_str());
    kind == Some(wanted) || is_stand_in(commit, ended)
}
