//! Feeding an execution: from a cause to a step, and from a step to what must be written.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use sprag_core::machine::{Cause, Effect, End, Input, Limits, Machine, Step, StepError, step};
use sprag_core::time::Timestamp;
use sprag_store::Mutation;
use sprag_store::records::{ExecutionStatus, HistoryEntry, Timer, TimerKey};
use sprag_store::traits::Variables;

use crate::aggregate::{Aggregate, Waiting};
use crate::command::{Internal, Request};
use crate::convert::{self, Entry, Snapshot};
use crate::lane::{Lane, Write};
use crate::options::{FOLLOW_UPS_MAX, SNAPSHOT_EVERY};

impl Lane {
    /// One macrostep. An error leaves the execution untouched.
    pub(super) fn step(
        &mut self,
        aggregate: &mut Aggregate,
        machine: &Machine,
        cause: Cause,
    ) -> Result<Stepped, StepError> {
        let limits = Limits {
            microsteps: self.options.limits.microsteps,
            variables_bytes: self.options.limits.variables_bytes,
        };
        let input = Input {
            now: self.now,
            cause,
            limits,
        };
        let step = step(machine, &aggregate.execution, &input)?;
        Ok(self.apply_step(aggregate, machine, input.cause, step))
    }

    /// Feeds input that nobody waits for; if its decision fails it stays at the head of the inbox. A closed execution
    /// hears nothing more.
    pub(super) fn feed(&mut self, aggregate: &mut Aggregate, machine: &Machine, cause: Cause) {
        if !aggregate.head.status.is_open() {
            return;
        }
        if !aggregate.is_deciding() {
            self.enqueue(aggregate, cause);
            return;
        }
        match self.step(aggregate, machine, cause.clone()) {
            Ok(stepped) => self.follow(aggregate, machine, stepped.ends),
            Err(error) => self.stick(aggregate, cause, &error),
        }
    }

    /// Ends of actions that were over as soon as they were triggered: each a macrostep of its own, up to a bound.
    pub(super) fn follow(&mut self, aggregate: &mut Aggregate, machine: &Machine, ends: Vec<End>) {
        let mut ends = VecDeque::from(ends);
        let mut taken = 0;
        while let Some(end) = ends.pop_front() {
            if aggregate.head.status > ExecutionStatus::Failed || is_superseded(aggregate, &end) {
                continue;
            }
            let cause = Cause::Ended(end);
            if taken == FOLLOW_UPS_MAX || !aggregate.is_deciding() {
                self.enqueue(aggregate, cause);
                continue;
            }
            taken += 1;
            match self.step(aggregate, machine, cause.clone()) {
                Ok(stepped) => ends.extend(stepped.ends),
                Err(error) => self.stick(aggregate, cause, &error),
            }
        }
        if aggregate.is_deciding() && !aggregate.inbox.is_empty() {
            self.batch
                .next
                .push(Request::Internal(Internal::Continue(aggregate.head.id)));
        }
    }

    /// Puts input into the inbox.
    pub(super) fn enqueue(&mut self, aggregate: &mut Aggregate, cause: Cause) {
        let position = aggregate.next_position;
        aggregate.next_position += 1;
        let waiting = Waiting { cause };
        self.batch
            .log
            .push(Mutation::InsertInbox(convert::inbox_row(aggregate, position, &waiting)));
        aggregate.inbox.push_back((position, waiting));
        self.touch(aggregate, Variables::Unchanged);
    }

    /// A decision that nobody waits for failed: the execution is `failed`, its input waits at the head of the inbox.
    fn stick(&mut self, aggregate: &mut Aggregate, cause: Cause, error: &StepError) {
        // Whatever waits already came later: positions before the first one are free.
        let position = aggregate
            .inbox
            .front()
            .map_or(aggregate.next_position, |(first, _)| first.saturating_sub(1));
        aggregate.next_position = aggregate.next_position.max(position + 1);
        let waiting = Waiting { cause: cause.clone() };
        self.batch
            .log
            .push(Mutation::InsertInbox(convert::inbox_row(aggregate, position, &waiting)));
        aggregate.inbox.push_front((position, waiting));
        aggregate.failure = Some(error.to_string());
        self.set_status(aggregate, ExecutionStatus::Failed);
        self.record(
            aggregate,
            &Entry::Stuck {
                cause,
                error: error.to_string(),
            },
        );
        tracing::warn!(execution = %aggregate.head.id, %error, "a decision failed");
    }

    /// Works off the inbox in arrival order, up to a bound.
    pub(super) fn drain(&mut self, aggregate: &mut Aggregate, machine: &Machine) {
        for _ in 0..FOLLOW_UPS_MAX {
            if !aggregate.is_deciding() {
                return;
            }
            let Some((position, waiting)) = aggregate.inbox.pop_front() else {
                return;
            };
            let execution = aggregate.head.id;
            self.batch.log.push(Mutation::DeleteInbox { execution, position });
            if let Cause::Ended(end) = &waiting.cause
                && is_superseded(aggregate, end)
            {
                continue;
            }
            self.feed(aggregate, machine, waiting.cause);
        }
        if !aggregate.inbox.is_empty() {
            self.batch
                .next
                .push(Request::Internal(Internal::Continue(aggregate.head.id)));
        }
    }

    /// The execution changed.
    pub(super) fn touch(&mut self, aggregate: &mut Aggregate, variables: Variables) {
        aggregate.head.updated_at = self.now;
        self.batch.touch(aggregate.head.id, Write::Update(variables));
    }

    /// Another status, with what it means for the execution's place in the world.
    pub(super) fn set_status(&mut self, aggregate: &mut Aggregate, status: ExecutionStatus) {
        aggregate.head.status = status;
        self.touch(aggregate, Variables::Unchanged);
        if !status.is_open()
            && let Some(key) = &aggregate.head.key
        {
            self.batch
                .keys
                .insert((aggregate.head.machine.to_string(), key.clone()), None);
        }
    }

    /// One more history entry, and a snapshot after every so many.
    pub(super) fn record(&mut self, aggregate: &mut Aggregate, entry: &Entry) {
        self.append(aggregate, entry);
        if aggregate.head.sequence.is_multiple_of(SNAPSHOT_EVERY) {
            let snapshot = Snapshot::of(&aggregate.execution);
            self.append(aggregate, &Entry::Snapshot(Box::new(snapshot)));
        }
    }

    fn append(&mut self, aggregate: &mut Aggregate, entry: &Entry) {
        aggregate.head.sequence += 1;
        self.touch(aggregate, Variables::Unchanged);
        self.batch.log.push(Mutation::AppendHistory(HistoryEntry {
            execution: aggregate.head.id,
            sequence: aggregate.head.sequence,
            at: self.now,
            body: convert::entry_bytes(entry),
        }));
    }

    fn apply_step(&mut self, aggregate: &mut Aggregate, machine: &Machine, cause: Cause, step: Step) -> Stepped {
        let Step {
            execution,
            handled,
            microsteps,
            effects,
            changed,
            completed,
        } = step;
        let before = std::mem::replace(&mut aggregate.execution, execution);
        let given = if cause == Cause::Start {
            Map::clone(&before.variables)
        } else {
            Map::new()
        };
        let variables: Map<String, Value> = changed
            .into_iter()
            .filter_map(|name| {
                aggregate
                    .execution
                    .variables
                    .get(&name)
                    .cloned()
                    .map(|value| (name, value))
            })
            .collect();
        let written = if variables.is_empty() {
            Variables::Unchanged
        } else {
            Variables::Changed
        };
        self.touch(aggregate, written);
        let event = self.traced_event(&cause);
        self.record(
            aggregate,
            &Entry::Step {
                cause,
                handled,
                microsteps,
                variables,
                given,
            },
        );
        self.trace_step(aggregate, machine, event, handled);
        let mut ends = Vec::new();
        for effect in effects {
            self.carry_out(aggregate, machine, effect, &mut ends);
        }
        if let Some(output) = completed {
            aggregate.output = Some(output);
            self.close(aggregate, ExecutionStatus::Completed);
        }
        Stepped { handled, ends }
    }

    fn carry_out(&mut self, aggregate: &mut Aggregate, machine: &Machine, effect: Effect, ends: &mut Vec<End>) {
        match effect {
            Effect::Trigger(trigger) => ends.extend(self.trigger(aggregate, machine, *trigger)),
            Effect::StartSchedule { action, visit, next } => {
                let Ok(offset) = u16::try_from(action) else { return };
                let schedule = machine
                    .actions
                    .get(action)
                    .map(|definition| definition.action_id.clone());
                self.start_timer(aggregate, visit, TimerKey::SCHEDULES + offset, next, schedule);
            }
            Effect::StartTimer { key, due_at } => self.start_timer(aggregate, key.visit, key.index, due_at, None),
            Effect::EndVisit(visit) => self.end_visit(aggregate, machine, visit),
            Effect::CancelAction { action } => self.cancel_all_of(aggregate, machine, action),
            Effect::Log(line) => tracing::info!(execution = %aggregate.head.id, machine = machine.id, "{line}"),
        }
    }

    fn start_timer(
        &mut self,
        aggregate: &mut Aggregate,
        visit: u64,
        index: u16,
        due_at: Timestamp,
        schedule: Option<String>,
    ) {
        let key = TimerKey {
            execution: aggregate.head.id,
            visit,
            index,
        };
        let timer = Timer { key, due_at, schedule };
        aggregate.timers.insert((visit, index), timer.clone());
        self.batch.put_timer(timer);
    }
}

/// A macrostep that was taken.
pub(super) struct Stepped {
    pub(super) handled: bool,
    /// Ends of actions that were over as soon as they were triggered.
    pub(super) ends: Vec<End>,
}

/// Whether a later trigger of the same action id exists.
pub(super) fn is_superseded(aggregate: &Aggregate, end: &End) -> bool {
    aggregate
        .execution
        .triggered
        .get(&end.action_id)
        .is_some_and(|&latest| latest > end.ordinal)
}
