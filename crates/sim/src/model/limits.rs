//! How many attempts at once, how fast, and who must run alone.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sprag_core::action::{Action, Rate, Status};
use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::Model;
use super::commit::Commit;
use super::known::KnownAction;
use crate::violation::{Checked, Invariant, ensure};

/// A life shorter than this makes suspects of what ran at its end, in milliseconds.
pub(super) const SHORT_LIFE_MILLIS: u64 = 60_000;
/// Found running at so many starts in a row, an action is a suspect.
pub(super) const SUSPECT_AFTER: u32 = 3;
/// So many more deaths alone, and it is dead.
pub(super) const DEAD_AFTER: u32 = SUSPECT_AFTER + 3;

/// Whether a program outside the process performs the attempt under way.
pub(super) fn is_leased(action: &Action) -> bool {
    action.current().is_some_and(|current| current.lease.is_some())
}

/// What is left of a rate: tokens times the length of its time, so that nothing is rounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    left: u128,
    at: Timestamp,
}

impl Pace {
    /// A full measure: twice what the rate gives, because every place may be held for a tick before its attempt begins, and
    /// however long that tick takes, the measure fills meanwhile.
    fn most(rate: Rate) -> u128 {
        u128::from(rate.count) * 2 * u128::from(rate.per_millis)
    }

    fn full(rate: Rate, now: Timestamp) -> Self {
        Self {
            left: Self::most(rate),
            at: now,
        }
    }

    /// Takes a token, or says that there is none.
    fn take(&mut self, rate: Rate, now: Timestamp) -> bool {
        let gained = u128::from(now.since(self.at)) * u128::from(rate.count);
        self.left = (self.left + gained).min(Self::most(rate));
        self.at = now;
        match self.left.checked_sub(u128::from(rate.per_millis)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

impl Model {
    /// Actions whose attempt is under way.
    fn running(&self) -> impl Iterator<Item = (&ActionId, &KnownAction)> {
        self.actions
            .iter()
            .filter(|(_, known)| known.action.status == Status::Running)
    }

    pub(super) fn check_limits(&mut self, commit: &Commit<'_>) -> Checked {
        if commit.begun.is_empty() {
            return Ok(());
        }
        if self.is_shared() {
            // Caps and lines are each node's own; a key is everybody's.
            return self.check_keys(commit);
        }
        let total = self.running().count();
        ensure(total <= self.caps.total, Invariant::Limits, || {
            format!("{total} attempts are under way")
        })?;
        for (kind, &cap) in &self.caps.per_type {
            let count = self
                .running()
                .filter(|(_, known)| known.action.kind == *kind && !known.runs_alone)
                .count();
            ensure(count <= cap, Invariant::Limits, || {
                format!("{count} attempts of `{kind}` are under way")
            })?;
        }
        self.check_keys(commit)?;
        self.check_order(commit)?;
        self.check_alone(commit)?;
        self.check_paces(commit)
    }

    /// An action starts when the count under each of its keys is below its own number: so of those with a number of
    /// at most `n`, never more than `n` are under way at once, in whatever order they were granted their permits.
    ///
    /// A node that can write nothing may hear the outcome of an attempt and lose its shard before it is stored: such an attempt
    /// has ended, whatever is stored of it.
    fn check_keys(&self, commit: &Commit<'_>) -> Checked {
        let has_ended = |known: &KnownAction| {
            let current = known.action.current();
            self.is_shared() && current.is_some_and(|current| commit.around.reports.contains_key(&current.id))
        };
        let mut held: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (_, known) in self.running().filter(|(_, known)| !has_ended(known)) {
            for limit in &known.limits {
                held.entry(&limit.key)
                    .or_default()
                    .push(limit.concurrency.unwrap_or(u32::MAX));
            }
        }
        for (key, mut numbers) in held {
            numbers.sort_unstable();
            let over = numbers.iter().zip(1_u32..).find(|&(&most, count)| count > most);
            ensure(over.is_none(), Invariant::Limits, || {
                format!("under `{key}` attempts of {numbers:?} are under way")
            })?;
        }
        Ok(())
    }

    /// A line is served in order. One that was chosen in its turn may have to be read first, which takes a tick in which
    /// those behind it begin: so an action that was passed begins in the next tick.
    fn check_order(&mut self, commit: &Commit<'_>) -> Checked {
        let place = |action: &Action| (Reverse(action.priority), action.run_at, action.id);
        for id in &commit.begun {
            let begun = &self.actions[id];
            let line = begun.action.line();
            let is_passed = |known: &KnownAction| {
                self.is_waiting_in_line(known)
                    && self.may_pass(&known.action, commit.around.now)
                    && known.limits == begun.limits
                    && place(&known.action) < place(&begun.action)
                    && known.action.line() == line
            };
            let waiting = self.actions.iter().filter(|(_, known)| is_passed(known));
            let passed: Vec<ActionId> = waiting.map(|(&passed, _)| passed).collect();
            // Which of a program's line begins is also a matter of who asks when; and an action whose row the store refuses
            // is passed by all others.
            if begun.runs_alone || begun.action.body.runner.is_some() || commit.around.has_refused {
                continue;
            }
            for passed in passed {
                let Some(known) = self.actions.get_mut(&passed) else {
                    continue;
                };
                let since = *known.passed_in.get_or_insert(self.ticks);
                ensure(since + 1 >= self.ticks, Invariant::LineOrder, || {
                    format!("{id} began before {passed}, and was not the first to")
                })?;
            }
        }
        Ok(())
    }

    /// Whether an action stands in its line, and did so before this tick.
    fn is_waiting_in_line(&self, known: &KnownAction) -> bool {
        let execution = self
            .executions
            .get(&known.action.origin.execution)
            .map(|known| known.status);
        known.action.status == Status::Queued
            && known.crashes < SUSPECT_AFTER
            && execution != Some(ExecutionStatus::Paused)
            && known.queued_in < self.ticks
    }

    /// A suspect begins when nothing else is under way, and nothing begins beside one.
    fn check_alone(&self, commit: &Commit<'_>) -> Checked {
        let own = self.running().filter(|(_, known)| !is_leased(&known.action));
        let others = own.count().saturating_sub(1);
        for (id, _) in self.running().filter(|(_, known)| known.runs_alone) {
            let is_right = commit.begun.contains(id) && others == 0;
            ensure(is_right, Invariant::SuspectsAlone, || {
                format!("{id} runs beside {others} others")
            })?;
        }
        Ok(())
    }

    fn check_paces(&mut self, commit: &Commit<'_>) -> Checked {
        let now = commit.around.now;
        for id in &commit.begun {
            for limit in self.actions[id].limits.clone() {
                let Some(rate) = limit.rate else { continue };
                let pace = self
                    .paces
                    .entry(limit.key.clone())
                    .or_insert_with(|| Pace::full(rate, now));
                ensure(pace.take(rate, now), Invariant::Limits, || {
                    format!("{id} began before its turn under `{}`", limit.key)
                })?;
            }
        }
        Ok(())
    }

    /// An action that is found running by another process than the one that began it: one more start, or none if the
    /// life before was long enough.
    pub(super) fn count_crash(&mut self, old: Option<&Action>, new: &Action, may_be_aside: bool) {
        let (life, is_short, is_shared) = (self.life, self.after_short_life, self.is_shared());
        // What a program performs does not die with a process.
        let was_running = old.is_some_and(|old| old.status == Status::Running && !is_leased(old));
        // What the store refused is left to the next process, though it may be asked to stop: its row says which it is.
        let is_counted = old.is_some_and(|old| old.body.crashes != new.body.crashes);
        if may_be_aside && !is_counted {
            return;
        }
        let Some(known) = self.actions.get_mut(&new.id) else {
            return;
        };
        if is_shared {
            // How long a node lived that lost its shard, the lane is told; here its word is taken for it.
            known.crashes = new.body.crashes.in_company + new.body.crashes.alone;
        } else if was_running && known.counted_in != life {
            known.counted_in = life;
            known.crashes = if is_short { known.crashes + 1 } else { 0 };
            known.runs_alone = known.crashes >= SUSPECT_AFTER;
        }
    }
}
