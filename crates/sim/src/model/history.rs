//! History, replayed: each entry must follow from the state before it.

use std::sync::Arc;

use sprag_core::ids::ExecutionId;
use sprag_core::machine::{
    Cause, Effect, End, Execution, Facts, Input, Limits, Machine, Microstep, Step, StepError, TimerKey, step,
};
use sprag_core::time::Timestamp;
use sprag_engine::convert::{Entry, What, entry_from};
use sprag_store::records::{self, ExecutionStatus};

use super::Model;
use super::commit::{Commit, is_deciding};
use super::known::{KnownExecution, StoredMove, message_number};
use crate::violation::{Checked, Invariant, Violation, ensure};

/// What a step is said to have done.
struct RecordedStep<'a> {
    handled: bool,
    microsteps: &'a [Microstep],
    variables: &'a serde_json::Map<String, serde_json::Value>,
}

impl Model {
    pub(super) fn read_history(&mut self, commit: &mut Commit<'_>, row: &records::HistoryEntry) -> Checked {
        let id = row.execution;
        let Ok(entry) = entry_from(row) else {
            return Err(Violation::new(
                Invariant::Replay,
                format!("{id}: entry {} cannot be read", row.sequence),
            ));
        };
        let now = commit.around.now;
        let known = self.touch(commit, id)?;
        known.length += 1;
        ensure(row.sequence == known.length, Invariant::HistoryDense, || {
            format!("{id}: entry {} comes after {}", row.sequence, known.length - 1)
        })?;
        ensure(
            row.at <= now && row.at >= known.last_at,
            Invariant::TimersOnTime,
            || format!("{id}: entry {} is of {}, the present is {now}", row.sequence, row.at),
        )?;
        known.last_at = row.at;
        ensure(known.status.is_open(), Invariant::ClosedStands, || {
            format!("{id}: {entry:?} after its end")
        })?;
        match &entry {
            Entry::Step {
                cause,
                handled,
                microsteps,
                variables,
                given,
            } => {
                if known.at.is_none() {
                    known.at = Some(begin(known, given.clone()));
                }
                let said = RecordedStep {
                    handled: *handled,
                    microsteps,
                    variables,
                };
                self.read_step(commit, row, cause, &said)
            }
            Entry::Refused { cause, .. } => self.read_refused(row, cause),
            Entry::Stuck { cause, .. } => self.read_stuck(row, cause),
            Entry::Plain(What::Paused) => known.become_(ExecutionStatus::Paused, &[ExecutionStatus::Running]),
            Entry::Plain(What::Resumed) => known.become_(
                ExecutionStatus::Running,
                &[ExecutionStatus::Paused, ExecutionStatus::Failed],
            ),
            Entry::Plain(What::Cancelled) => {
                known.close();
                known.status = ExecutionStatus::Cancelled;
                Ok(())
            }
            // Nothing follows from these: no run is long enough for a snapshot, and the other kinds change no state.
            Entry::Snapshot(_) | Entry::Plain(_) => Ok(()),
            Entry::Migrated { from, to, .. } => self.read_move(row, *from, *to),
        }
    }

    fn machine_of(&self, known: &KnownExecution) -> Result<Arc<Machine>, Violation> {
        let version = (known.row.machine.clone(), known.version);
        let unknown = || Violation::new(Invariant::AcknowledgedKept, format!("{version:?} is not stored"));
        self.versions.get(&version).cloned().ok_or_else(unknown)
    }

    fn read_step(
        &mut self,
        commit: &mut Commit<'_>,
        row: &records::HistoryEntry,
        cause: &Cause,
        said: &RecordedStep<'_>,
    ) -> Checked {
        let id = row.execution;
        let machine = self.known(id)?;
        let machine = self.machine_of(machine)?;
        let known = self.known_mut(id)?;
        known.take_cause(commit, row, cause, &machine)?;
        let taken = known.step(&machine, row.at, cause);
        let taken = taken.map_err(|error| Violation::new(Invariant::Replay, format!("{id}: {cause:?}: {error}")))?;
        let changed = taken
            .changed
            .iter()
            .all(|name| said.variables.get(name) == taken.execution.variables.get(name));
        let same = taken.handled == said.handled
            && taken.microsteps == said.microsteps
            && taken.changed.len() == said.variables.len()
            && changed;
        ensure(same, Invariant::Replay, || {
            format!("{id}: entry {} took other transitions", row.sequence)
        })?;
        known.carry_out(commit, id, &machine, taken);
        Ok(())
    }

    /// A message that was refused: its decision must fail again.
    fn read_refused(&mut self, row: &records::HistoryEntry, cause: &Cause) -> Checked {
        let id = row.execution;
        let machine = self.machine_of(self.known(id)?)?;
        let known = self.known_mut(id)?;
        ensure(is_deciding(known.status), Invariant::HeldStands, || {
            format!("{id} decided while held")
        })?;
        let fails = known.step(&machine, row.at, cause).is_err();
        ensure(fails, Invariant::Replay, || {
            format!("{id} refused a message that it could take")
        })
    }

    /// Input whose decision failed: it must fail again, and waits at the head of the inbox.
    fn read_stuck(&mut self, row: &records::HistoryEntry, cause: &Cause) -> Checked {
        let id = row.execution;
        let machine = self.machine_of(self.known(id)?)?;
        let known = self.known_mut(id)?;
        let fails = known.step(&machine, row.at, cause).is_err();
        ensure(fails, Invariant::Replay, || {
            format!("{id} stuck on input that it could take")
        })?;
        let is_first = known.inbox.values().next() == Some(cause);
        ensure(is_first, Invariant::AcknowledgedKept, || {
            format!("{id} stuck on input that does not wait first")
        })?;
        if known.popped.as_ref() == Some(cause) {
            known.popped = None;
        } else {
            known.drop_popped()?;
            known.due_before(cause, row.at)?;
            if let Cause::Timer(key) = cause {
                known.fire(id, *key)?;
            }
        }
        known.become_(ExecutionStatus::Failed, &[ExecutionStatus::Running])
    }

    fn read_move(&mut self, row: &records::HistoryEntry, from: u32, to: u32) -> Checked {
        #[derive(serde::Deserialize)]
        struct Migrated {
            moved: StoredMove,
        }
        let id = row.execution;
        let old = self.machine_of(self.known(id)?)?;
        let known = self.known_mut(id)?;
        ensure(from == known.version, Invariant::Replay, || {
            "a move starts from another version".to_owned()
        })?;
        let (Ok(Migrated { moved }), Some(at)) = (serde_json::from_slice(&row.body), known.at.as_mut()) else {
            return Err(Violation::new(Invariant::Replay, "a move cannot be read"));
        };
        let before = at.clone();
        moved.put_into(at);
        known.version = to;
        let new = self.machine_of(self.known(id)?)?;
        self.known_mut(id)?.move_timers(&old, &new, &before, row.at);
        Ok(())
    }

    fn known(&self, id: ExecutionId) -> Result<&KnownExecution, Violation> {
        let unknown = || Violation::new(Invariant::AcknowledgedKept, format!("{id} was never started"));
        self.executions.get(&id).ok_or_else(unknown)
    }

    pub(super) fn known_mut(&mut self, id: ExecutionId) -> Result<&mut KnownExecution, Violation> {
        let unknown = || Violation::new(Invariant::AcknowledgedKept, format!("{id} was never started"));
        self.executions.get_mut(&id).ok_or_else(unknown)
    }
}

fn begin(known: &KnownExecution, given: serde_json::Map<String, serde_json::Value>) -> Execution {
    let row = &known.row;
    Execution::new(
        Facts {
            id: row.id,
            key: row.key.clone(),
            version: known.version,
            created_at: row.created_at,
        },
        given,
    )
}

impl KnownExecution {
    fn become_(&mut self, to: ExecutionStatus, from: &[ExecutionStatus]) -> Checked {
        let is_legal = from.contains(&self.status);
        let before = std::mem::replace(&mut self.status, to);
        ensure(is_legal, Invariant::Lifecycle, || {
            format!("{} became {}", before.word(), to.word())
        })
    }

    /// Nothing of it fires any more.
    fn close(&mut self) {
        self.afters.clear();
        self.schedules.clear();
        self.popped = None;
    }

    fn step(&self, machine: &Machine, now: Timestamp, cause: &Cause) -> Result<Step, StepError> {
        let Some(at) = &self.at else {
            return Err(StepError::Foreign);
        };
        step(
            machine,
            at,
            &Input {
                now,
                cause: cause.clone(),
                limits: Limits::default(),
            },
        )
    }

    /// Whether the cause of a step may cause one now.
    fn take_cause(
        &mut self,
        commit: &Commit<'_>,
        row: &records::HistoryEntry,
        cause: &Cause,
        machine: &Machine,
    ) -> Checked {
        let id = row.execution;
        ensure(is_deciding(self.status), Invariant::HeldStands, || {
            format!("{id} took a step while {}", self.status.word())
        })?;
        let was_waiting = self.popped.as_ref() == Some(cause);
        if was_waiting {
            self.popped = None;
        } else {
            self.drop_popped()?;
        }
        let follows = matches!(cause, Cause::Ended(end) if follows_at_once(commit, id, end));
        if !follows {
            self.due_before(cause, row.at)?;
            let comes_from_outside = matches!(cause, Cause::Message(_) | Cause::Ended(_));
            ensure(
                was_waiting || !comes_from_outside || self.inbox.is_empty(),
                Invariant::Replay,
                || format!("{id}: {cause:?} came before input that waited"),
            )?;
        }
        match cause {
            Cause::Start => ensure(row.sequence == 1, Invariant::ExactlyOnce, || {
                format!("{id} started twice")
            }),
            Cause::Message(message) => {
                let before = self.taken.insert(message_number(&message.payload), row.sequence);
                ensure(before.is_none(), Invariant::ExactlyOnce, || {
                    format!("{id} took `{}` twice", message.id)
                })
            }
            Cause::Timer(key) if was_waiting => ensure(
                !self.afters.contains_key(&(key.visit, key.index)),
                Invariant::ExactlyOnce,
                || format!("{id}: a timer that waited as input is still set"),
            ),
            Cause::Timer(key) => {
                self.check_due(id, *key, row.at, machine)?;
                self.fire(id, *key)
            }
            Cause::Ended(end) => {
                ensure(
                    !self.is_superseded(&end.action_id, end.ordinal),
                    Invariant::ExactlyOnce,
                    || format!("{id} heard the superseded end {} of `{}`", end.ordinal, end.action_id),
                )?;
                *self.owed.entry((end.action_id.clone(), end.ordinal)).or_default() -= 1;
                Ok(())
            }
            Cause::Occurrence { action, visit, nominal } => self.occur(id, action, *visit, (*nominal, row.at)),
        }
    }

    /// Timers that are due come before any other input, and in the order they are due.
    fn due_before(&self, cause: &Cause, now: Timestamp) -> Checked {
        let due = |except: Option<TimerKey>| {
            let others = self
                .afters
                .iter()
                .filter(|(place, _)| except.is_none_or(|key| **place != (key.visit, key.index)));
            others.map(|(_, &at)| at).min()
        };
        let late = match cause {
            Cause::Start | Cause::Occurrence { .. } => None,
            Cause::Message(_) | Cause::Ended(_) => due(None).filter(|&at| at <= now),
            Cause::Timer(key) => {
                let own = self.afters.get(&(key.visit, key.index)).copied().unwrap_or(now);
                due(Some(*key)).filter(|&at| at < own)
            }
        };
        let id = self.row.id;
        ensure(late.is_none(), Invariant::TimersOnTime, || {
            format!("{id}: {cause:?} came before a timer of {late:?}")
        })
    }

    fn check_due(&self, id: ExecutionId, key: TimerKey, now: Timestamp, machine: &Machine) -> Checked {
        let visit = self.at.as_ref().and_then(|at| at.visit(key.visit));
        let after = visit.and_then(|visit| machine.state(visit.state).after.get(usize::from(key.index)));
        let due = visit
            .zip(after)
            .map(|(visit, after)| visit.entered_at.plus(after.millis));
        ensure(due.is_some_and(|due| due <= now), Invariant::TimersOnTime, || {
            format!("{id}: a timer due at {due:?} fired at {now}")
        })
    }

    /// The timer goes; each fires once.
    fn fire(&mut self, id: ExecutionId, key: TimerKey) -> Checked {
        let was_set = self.afters.remove(&(key.visit, key.index)).is_some();
        ensure(was_set, Invariant::ExactlyOnce, || {
            format!("{id}: {key:?} fired and was not set")
        })
    }

    fn occur(&mut self, id: ExecutionId, action: &str, visit: u64, (nominal, now): (Timestamp, Timestamp)) -> Checked {
        ensure(nominal <= now, Invariant::TimersOnTime, || {
            format!("{id}: `{action}` of {nominal} fired at {now}")
        })?;
        let last = self.nominals.insert((action.to_owned(), visit), nominal);
        ensure(last.is_none_or(|last| last < nominal), Invariant::ExactlyOnce, || {
            format!("{id}: `{action}` of {nominal} came after the one of {last:?}")
        })?;
        let is_active = self.at.as_ref().is_some_and(|at| at.visit(visit).is_some());
        ensure(is_active, Invariant::Replay, || {
            format!("{id}: `{action}` fired for a visit that is over")
        })
    }

    /// What the step asks for, to be held against what was written.
    fn carry_out(&mut self, commit: &mut Commit<'_>, id: ExecutionId, machine: &Arc<Machine>, taken: Step) {
        for effect in taken.effects {
            match effect {
                Effect::Trigger(trigger) => {
                    let action_id = machine.actions.get(trigger.action).map(|found| found.action_id.clone());
                    let place = (id, action_id.unwrap_or_default(), trigger.ordinal);
                    commit.triggers.insert(place, (*trigger, Arc::clone(machine)));
                }
                Effect::StartTimer { key, due_at } => {
                    self.afters.insert((key.visit, key.index), due_at);
                }
                Effect::StartSchedule { action, visit, .. } => {
                    self.schedules.insert((visit, schedule_index(action)));
                }
                Effect::EndVisit(visit) => {
                    self.afters.retain(|place, _| place.0 != visit);
                    self.schedules.retain(|place| place.0 != visit);
                    commit.ended_visits.push((id, visit, Arc::clone(machine)));
                }
                Effect::CancelAction { action } => {
                    let action_id = machine.actions.get(action).map(|found| found.action_id.clone());
                    commit.cancelled.insert((id, action_id.unwrap_or_default()));
                }
                Effect::Log(_) => {}
            }
        }
        self.at = Some(taken.execution);
        if taken.completed.is_some() {
            self.close();
            self.status = ExecutionStatus::Completed;
        }
    }

    /// Timers of the other version count from the entry of the kept states, but not before now; a duration that fired
    /// does not fire again.
    fn move_timers(&mut self, from: &Machine, to: &Machine, before: &Execution, now: Timestamp) {
        let old = std::mem::take(&mut self.afters);
        self.schedules.clear();
        let visits = self.at.iter().flat_map(|at| at.visits.clone());
        for visit in visits.collect::<Vec<_>>() {
            let was = before
                .visit(visit.number)
                .map(|was| from.state(was.state).after.as_slice())
                .unwrap_or_default();
            let fired = |millis: u64| {
                let mut same = was.iter().zip(0..).filter(|(after, _)| after.millis == millis);
                same.any(|(_, index)| !old.contains_key(&(visit.number, index)))
            };
            for (after, index) in to.state(visit.state).after.iter().zip(0..) {
                if !fired(after.millis) {
                    self.afters
                        .insert((visit.number, index), visit.entered_at.plus(after.millis).max(now));
                }
            }
            for &position in &to.state(visit.state).triggers {
                let schedule = to.actions.get(position).and_then(|found| found.schedule.as_ref());
                let goes_on = schedule.is_some_and(|found| found.cron.next_after(now.as_millis()).is_some());
                if goes_on {
                    self.schedules.insert((visit.number, schedule_index(position)));
                }
            }
        }
    }
}

/// The index of the timer of a schedule.
fn schedule_index(action: usize) -> u16 {
    records::TimerKey::SCHEDULES.saturating_add(u16::try_from(action).unwrap_or(u16::MAX))
}

/// Whether an end follows at once from a trigger of the same commit: such ends come before everything else.
fn follows_at_once(commit: &Commit<'_>, id: ExecutionId, end: &End) -> bool {
    commit.triggers.contains_key(&(id, end.action_id.clone(), end.ordinal))
}
