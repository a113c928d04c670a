//! One execution while a decision changes it: from a cause to a step, and from a step to what must be written.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::action::Action;
use sprag_core::machine::{Cause, Effect, End, Input, Limits, Machine, Step, StepError, step};
use sprag_core::time::Timestamp;
use sprag_store::Mutation;
use sprag_store::records::{ExecutionStatus, HistoryEntry, Timer, TimerKey};
use sprag_store::traits::Variables;

use super::convert::{self, Entry, Snapshot};
use super::state::{ExecutionState, Waiting};
use super::traced::{event_name, trace_step};
use super::{Batch, Decider, Known, Pinned, Write};
use crate::engine::options::{FOLLOW_UPS_MAX, SNAPSHOT_EVERY};
use crate::requests::{Command, Continue};

/// An execution that a decision changes, with everything the decision may use.
pub struct ExecutionChange<'e, 'd> {
    pub(crate) decider: &'e mut Decider<'d>,
    pub(crate) state: &'e mut ExecutionState,
    /// The machine versions that the execution and its open actions refer to.
    pub(crate) machines: &'e mut Pinned,
    /// The version of the execution when the decision began.
    pub(crate) machine: &'e Machine,
}

impl ExecutionChange<'_, '_> {
    /// The instant of the batch.
    pub(crate) fn now(&self) -> Timestamp {
        self.decider.at.now
    }

    pub(crate) fn batch(&mut self) -> &mut Batch {
        self.decider.batch
    }

    pub(crate) fn known(&mut self) -> &mut Known {
        self.decider.known
    }

    /// The machine version whose definition an action follows: its own, even after its execution moved to another.
    pub(crate) fn machine_of(&self, action: &Action) -> Arc<Machine> {
        let version = action.origin.version;
        if version == self.state.head.version {
            return Arc::clone(&self.machines.own);
        }
        let other = self.machines.other(version);
        debug_assert!(other.is_some(), "version {version} of an open action is not pinned");
        Arc::clone(other.unwrap_or(&self.machines.own))
    }

    /// One macrostep. An error leaves the execution untouched.
    pub(crate) fn step(&mut self, cause: Cause) -> Result<Macrostep, StepError> {
        let rules = &self.decider.rules.limits;
        let limits = Limits {
            microsteps: rules.microsteps,
            variables_bytes: rules.variables_bytes,
        };
        let input = Input {
            now: self.now(),
            cause,
            limits,
        };
        let step = step(self.machine, &self.state.execution, &input)?;
        Ok(self.apply(input.cause, step))
    }

    /// Feeds input whose sender does not wait; if its decision fails, it stays at the head of the inbox. A closed
    /// execution takes no input.
    pub(crate) fn feed(&mut self, cause: Cause) {
        if !self.state.head.status.is_open() {
            return;
        }
        if !self.state.is_deciding() {
            self.enqueue(cause);
            return;
        }
        match self.step(cause.clone()) {
            Ok(taken) => self.follow(taken.ends),
            Err(error) => self.stick(cause, &error),
        }
    }

    /// Ends of actions that were over as soon as they were triggered: each a macrostep of its own, up to a bound.
    pub(crate) fn follow(&mut self, ends: Vec<End>) {
        let mut ends = VecDeque::from(ends);
        let mut taken = 0;
        while let Some(end) = ends.pop_front() {
            if self.state.head.status > ExecutionStatus::Failed || self.is_superseded(&end) {
                continue;
            }
            let cause = Cause::Ended(end);
            if taken == FOLLOW_UPS_MAX || !self.state.is_deciding() {
                self.enqueue(cause);
                continue;
            }
            taken += 1;
            match self.step(cause.clone()) {
                Ok(step) => ends.extend(step.ends),
                Err(error) => self.stick(cause, &error),
            }
        }
        if self.state.is_deciding() && !self.state.inbox.is_empty() {
            self.continue_later();
        }
    }

    /// Puts input into the inbox.
    pub(crate) fn enqueue(&mut self, cause: Cause) {
        let position = self.state.next_position;
        self.state.next_position += 1;
        let waiting = Waiting { cause };
        let row = convert::inbox_row(self.state, position, &waiting);
        self.batch().log.push(Mutation::InsertInbox(row));
        self.state.inbox.push_back((position, waiting));
        self.touch(Variables::Unchanged);
    }

    /// A decision whose input has no waiting sender failed: the execution is `failed`, its input waits at the head of the
    /// inbox.
    fn stick(&mut self, cause: Cause, error: &StepError) {
        // Input that waits already came later: positions before the first one are free.
        let first = self.state.inbox.front();
        let position = first.map_or(self.state.next_position, |(first, _)| first.saturating_sub(1));
        self.state.next_position = self.state.next_position.max(position + 1);
        let waiting = Waiting { cause: cause.clone() };
        let row = convert::inbox_row(self.state, position, &waiting);
        self.batch().log.push(Mutation::InsertInbox(row));
        self.state.inbox.push_front((position, waiting));
        self.state.failure = Some(error.to_string());
        self.set_status(ExecutionStatus::Failed);
        let error = error.to_string();
        tracing::warn!(execution = %self.state.head.id, error, "decision failed, execution waits for an operator");
        self.record(&Entry::Stuck { cause, error });
    }

    /// Works off the inbox in arrival order, up to a bound.
    pub(crate) fn drain(&mut self) {
        for _ in 0..FOLLOW_UPS_MAX {
            if !self.state.is_deciding() {
                return;
            }
            let Some((position, waiting)) = self.state.inbox.pop_front() else {
                return;
            };
            let execution = self.state.head.id;
            self.batch().log.push(Mutation::DeleteInbox { execution, position });
            if let Cause::Ended(end) = &waiting.cause
                && self.is_superseded(end)
            {
                continue;
            }
            self.feed(waiting.cause);
        }
        if !self.state.inbox.is_empty() {
            self.continue_later();
        }
    }

    /// Timers that became due meanwhile come before the inbox.
    pub(crate) fn fire_and_drain(&mut self) {
        self.fire_due();
        self.drain();
    }

    /// The next batch works off the rest of the inbox.
    fn continue_later(&mut self) {
        let next = Command::own(Continue(self.state.head.id));
        self.batch().next.push(next);
    }

    /// The execution changed.
    pub(crate) fn touch(&mut self, variables: Variables) {
        self.state.head.updated_at = self.now();
        let id = self.state.head.id;
        self.batch().touch(id, Write::Update(variables));
    }

    /// Another status. A closed execution gives up its key.
    pub(crate) fn set_status(&mut self, status: ExecutionStatus) {
        self.state.head.status = status;
        self.touch(Variables::Unchanged);
        if !status.is_open()
            && let Some(key) = &self.state.head.key
        {
            let name = (self.state.head.machine.to_string(), key.clone());
            self.batch().keys.insert(name, None);
        }
    }

    /// One more history entry, and a snapshot after every so many.
    pub(crate) fn record(&mut self, entry: &Entry) {
        self.append(entry);
        if self.state.head.sequence.is_multiple_of(SNAPSHOT_EVERY) {
            let snapshot = Snapshot::of(&self.state.execution);
            self.append(&Entry::Snapshot(Box::new(snapshot)));
        }
    }

    fn append(&mut self, entry: &Entry) {
        self.state.head.sequence += 1;
        self.touch(Variables::Unchanged);
        let row = HistoryEntry {
            execution: self.state.head.id,
            sequence: self.state.head.sequence,
            at: self.now(),
            body: convert::entry_bytes(entry),
        };
        self.batch().log.push(Mutation::AppendHistory(row));
    }

    fn apply(&mut self, cause: Cause, step: Step) -> Macrostep {
        let Step {
            execution,
            handled,
            microsteps,
            effects,
            changed,
            completed,
        } = step;
        let before = std::mem::replace(&mut self.state.execution, execution);
        let given = if cause == Cause::Start {
            Map::clone(&before.variables)
        } else {
            Map::new()
        };
        let variables = self.values_of(changed);
        let written = if variables.is_empty() {
            Variables::Unchanged
        } else {
            Variables::Changed
        };
        self.touch(written);
        let event = self.decider.rules.is_traced.then(|| event_name(&cause));
        self.record(&Entry::Step {
            cause,
            handled,
            microsteps,
            variables,
            given,
        });
        trace_step(self, event, handled);
        let mut ends = Vec::new();
        for effect in effects {
            self.carry_out(effect, &mut ends);
        }
        if let Some(output) = completed {
            self.state.output = Some(output);
            self.close(ExecutionStatus::Completed);
        }
        Macrostep { handled, ends }
    }

    /// The values of the variables that a step changed.
    fn values_of(&self, changed: Vec<String>) -> Map<String, Value> {
        let variables = &self.state.execution.variables;
        let value = |name: String| variables.get(&name).cloned().map(|value| (name, value));
        changed.into_iter().filter_map(value).collect()
    }

    fn carry_out(&mut self, effect: Effect, ends: &mut Vec<End>) {
        let machine = self.machine;
        match effect {
            Effect::Trigger(trigger) => ends.extend(self.trigger(*trigger)),
            Effect::StartSchedule { action, visit, next } => {
                let Ok(offset) = u16::try_from(action) else { return };
                let definition = machine.actions.get(action);
                let schedule = definition.map(|definition| definition.action_id.clone());
                self.start_timer(visit, TimerKey::SCHEDULES + offset, next, schedule);
            }
            Effect::StartTimer { key, due_at } => self.start_timer(key.visit, key.index, due_at, None),
            Effect::EndVisit(visit) => self.end_visit(visit),
            Effect::CancelAction { action } => self.cancel_all_of(action),
            Effect::Log(line) => tracing::info!(execution = %self.state.head.id, machine = machine.id, "{line}"),
        }
    }

    fn start_timer(&mut self, visit: u64, index: u16, due_at: Timestamp, schedule: Option<String>) {
        let key = TimerKey {
            execution: self.state.head.id,
            visit,
            index,
        };
        self.put_timer(Timer { key, due_at, schedule });
    }

    /// The timer starts or moves.
    pub(crate) fn put_timer(&mut self, timer: Timer) {
        let key = (timer.key.visit, timer.key.index);
        self.state.timers.insert(key, timer.clone());
        self.batch().put_timer(timer);
    }

    /// Whether a later trigger of the same action id exists.
    pub(crate) fn is_superseded(&self, end: &End) -> bool {
        let latest = self.state.execution.triggered.get(&end.action_id);
        latest.is_some_and(|&latest| latest > end.ordinal)
    }
}

/// A macrostep that was taken.
pub(crate) struct Macrostep {
    pub(crate) handled: bool,
    /// Ends of actions that were over as soon as they were triggered.
    pub(crate) ends: Vec<End>,
}
