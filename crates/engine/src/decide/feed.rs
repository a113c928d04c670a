//! Feeding an execution: from a cause to a step, and from a step to what must be written.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use sprag_core::action::definition::WAIT;
use sprag_core::action::error::kind;
use sprag_core::action::progress::Cancelled;
use sprag_core::action::{
    Action, ActionError, Body, CancelledBy, Definition, LimitUse, Next, OnExit, Origin, Remark, Status,
};
use sprag_core::machine::{
    Cause, Effect, End, Fate, How, Input, Limits, Machine, SkipReason, Step, StepError, Trigger, step,
};
use sprag_core::schedule::Overlap;
use sprag_core::time::Timestamp;
use sprag_store::records::{ExecutionStatus, HistoryEntry, Timer, TimerKey};
use sprag_store::traits::Variables;
use sprag_store::{Error, Mutation};

use crate::aggregate::{Aggregate, Waiting};
use crate::command::{AttemptRef, Internal, Request};
use crate::convert::{self, Entry};
use crate::lane::{Lane, Write};
use crate::options::{CANCEL_GRACE_MILLIS, FOLLOW_UPS_MAX};
use crate::timers::Due;

/// The longest a `wait` may be, in seconds: a century.
const WAIT_MAX_SECONDS: f64 = 3_155_760_000.0;

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

    /// Feeds input that nobody waits for; if its decision fails it stays at the head of the inbox.
    pub(super) fn feed(&mut self, aggregate: &mut Aggregate, machine: &Machine, cause: Cause) {
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

    /// One more history entry.
    pub(super) fn record(&mut self, aggregate: &mut Aggregate, entry: &Entry) {
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
            Effect::Trigger(trigger) => ends.extend(self.trigger(aggregate, machine, trigger)),
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

    /// Creates an action; one that is over at once has an end to be fed.
    pub(super) fn trigger(&mut self, aggregate: &mut Aggregate, machine: &Machine, trigger: Trigger) -> Option<End> {
        let Trigger {
            action: position,
            ordinal,
            visit,
            nominal,
            fate,
        } = trigger;
        let definition = machine.actions.get(position)?;
        let body = Body {
            version: aggregate.head.version,
            ordinal,
            visit,
            nominal,
            ..Body::default()
        };
        let mut action = self.new_action(aggregate, definition, body);
        match fate {
            Fate::Ready { frozen, limit_keys } => {
                let config = frozen
                    .as_ref()
                    .map_or_else(|| definition.config.constant(), |frozen| Some(&frozen.config));
                let wait = match wait_millis(definition, config) {
                    Ok(wait) => wait,
                    Err(error) => return self.create_dead(action, error),
                };
                action.body.destination = config.and_then(|config| self.hands().destination(&definition.kind, config));
                action.body.frozen = frozen;
                action.body.limits = limit_uses(definition, limit_keys);
                action.body.deadline_at = definition.deadline.map(|deadline| self.now.plus(deadline));
                let delay = if nominal.is_some() { 0 } else { definition.delay };
                action.run_at = self.now.plus(delay).plus(wait);
                action.body.behind = nominal.is_some() && queues(definition) && aggregate.has_open(&action.action_id);
                self.create(aggregate, action);
                None
            }
            Fate::Skipped(reason) => {
                action.status = Status::Skipped;
                action.body.skipped = Some(reason);
                let end = action.end(How::Skipped);
                self.batch.put_action(Write::Insert, action);
                machine.skips_named.contains(&end.action_id).then_some(end)
            }
            Fate::Dead(error) => self.create_dead(action, error),
        }
    }

    fn new_action(&mut self, aggregate: &Aggregate, definition: &Definition, body: Body) -> Action {
        let head = &aggregate.head;
        Action {
            id: self.mint.action(head.id.slot()),
            origin: Origin {
                execution: head.id,
                machine: head.machine.to_string(),
                version: head.version,
            },
            action_id: definition.action_id.clone(),
            kind: definition.kind.clone(),
            status: Status::Queued,
            priority: definition.priority,
            tags: definition.tags.clone(),
            created_at: self.now,
            run_at: self.now,
            body,
        }
    }

    /// An occurrence that its schedule's overlap rule skips: recorded, fed to nobody.
    pub(super) fn record_overlap(
        &mut self,
        aggregate: &Aggregate,
        definition: &Definition,
        visit: u64,
        nominal: Timestamp,
    ) {
        let body = Body {
            version: aggregate.head.version,
            visit: Some(visit),
            nominal: Some(nominal),
            skipped: Some(SkipReason::Overlap),
            ..Body::default()
        };
        let mut action = self.new_action(aggregate, definition, body);
        action.status = Status::Skipped;
        self.batch.put_action(Write::Insert, action);
    }

    fn create(&mut self, aggregate: &mut Aggregate, mut action: Action) {
        if action.body.behind {
            action.status = Status::Scheduled;
            action.run_at = Timestamp::MAX;
        } else if action.run_at > self.now {
            action.status = Status::Scheduled;
            self.batch
                .due
                .push((action.run_at, Due::Action(aggregate.head.id, action.id)));
        } else {
            self.dispatcher.join(&action);
        }
        self.batch.put_action(Write::Insert, action.clone());
        aggregate.actions.insert(action.id, action);
    }

    fn create_dead(&mut self, mut action: Action, error: ActionError) -> Option<End> {
        action.status = Status::Dead;
        action.body.last_error = Some(error);
        let end = action.end(How::Failed);
        self.batch.put_action(Write::Insert, action);
        Some(end)
    }

    /// The visit is over: its timers go, and its actions as their definitions say.
    fn end_visit(&mut self, aggregate: &mut Aggregate, machine: &Machine, visit: u64) {
        let keys: Vec<(u64, u16)> = aggregate
            .timers
            .range((visit, 0)..=(visit, u16::MAX))
            .map(|(&key, _)| key)
            .collect();
        for key in keys {
            if let Some(timer) = aggregate.timers.remove(&key) {
                self.batch.delete_timer(timer.key);
            }
        }
        let of_visit: Vec<_> = aggregate
            .actions
            .values()
            .filter(|action| action.body.visit == Some(visit))
            .map(|action| action.id)
            .collect();
        for id in of_visit {
            let Some(action) = aggregate.actions.get(&id) else {
                continue;
            };
            let on_exit = machine
                .action(&action.action_id)
                .map_or(OnExit::default(), |(_, definition)| definition.on_exit);
            let ends = match on_exit {
                OnExit::Keep => false,
                OnExit::CancelNotDue => action.status == Status::Scheduled,
                OnExit::Cancel => true,
            };
            if ends {
                self.cancel_one(aggregate, id, CancelledBy::Machine);
            }
        }
    }

    fn cancel_all_of(&mut self, aggregate: &mut Aggregate, machine: &Machine, position: usize) {
        let Some(definition) = machine.actions.get(position) else {
            return;
        };
        let open: Vec<_> = aggregate
            .actions
            .values()
            .filter(|action| action.action_id == definition.action_id)
            .map(|action| action.id)
            .collect();
        for id in open {
            self.cancel_one(aggregate, id, CancelledBy::Machine);
        }
    }

    /// Cancels an open action, without feeding anything. Says whether the machine is to hear of it.
    pub(super) fn cancel_one(
        &mut self,
        aggregate: &mut Aggregate,
        id: sprag_core::ids::ActionId,
        by: CancelledBy,
    ) -> Option<End> {
        let mut action = aggregate.actions.remove(&id)?;
        self.dispatcher.leave(&action);
        let next = match action.cancel(by, self.now) {
            Ok(Cancelled::AtOnce(next)) => next,
            Ok(Cancelled::Requested) => {
                self.ask_to_stop(aggregate, &action);
                self.batch
                    .put_action(Write::Update(Variables::Unchanged), action.clone());
                aggregate.actions.insert(id, action);
                return None;
            }
            Err(_) => return None,
        };
        self.release_behind(aggregate, &action.action_id);
        self.batch.put_action(Write::Update(Variables::Unchanged), action);
        match next {
            Next::Ended(end) => Some(end),
            Next::Quiet | Next::Again => None,
        }
    }

    fn ask_to_stop(&mut self, aggregate: &Aggregate, action: &Action) {
        let Some(attempt) = action.current() else { return };
        let attempt = AttemptRef {
            attempt: attempt.id,
            action: action.id,
            execution: aggregate.head.id,
        };
        self.batch.cancels.push(attempt);
        self.batch
            .due
            .push((self.now.plus(CANCEL_GRACE_MILLIS), Due::Overdue(attempt)));
    }

    /// The execution is closed: nothing of it fires any more.
    pub(super) fn close(&mut self, aggregate: &mut Aggregate, status: ExecutionStatus) {
        self.set_status(aggregate, status);
        aggregate.failure = None;
        for (_, timer) in std::mem::take(&mut aggregate.timers) {
            self.batch.delete_timer(timer.key);
        }
        let execution = aggregate.head.id;
        for (position, _) in std::mem::take(&mut aggregate.inbox) {
            self.batch.log.push(Mutation::DeleteInbox { execution, position });
        }
        let goes = |action: &&Action| status == ExecutionStatus::Cancelled || action.body.behind;
        let ended: Vec<_> = aggregate
            .actions
            .values()
            .filter(goes)
            .map(|action| action.id)
            .collect();
        for id in ended {
            self.cancel_one(aggregate, id, CancelledBy::Execution);
        }
    }

    /// An action has ended: what its machine hears of it, and the record.
    pub(super) fn end_action(
        &mut self,
        aggregate: &mut Aggregate,
        machine: &Machine,
        mut action: Action,
        next: Next,
    ) -> Result<(), Error> {
        aggregate.actions.remove(&action.id);
        let mut end = None;
        if let Next::Ended(ended) = next {
            if !aggregate.head.status.is_open() {
                action.body.remark = Some(Remark::ExecutionClosed);
            } else if is_superseded(aggregate, &ended) {
                action.body.remark = Some(Remark::Superseded);
            } else {
                end = Some(ended);
            }
        }
        let action_id = action.action_id.clone();
        self.batch.put_action(Write::Update(Variables::Unchanged), action);
        self.release_behind(aggregate, &action_id);
        if let Some(end) = end {
            self.fire_due(aggregate, machine);
            self.feed(aggregate, machine, Cause::Ended(end));
        }
        Ok(())
    }

    /// The next occurrence that waited for this one's end joins its line.
    fn release_behind(&mut self, aggregate: &mut Aggregate, action_id: &str) {
        let mut waiting = aggregate.actions.values_mut();
        let Some(next) = waiting.find(|action| action.body.behind && action.action_id == action_id) else {
            return;
        };
        next.body.behind = false;
        if next.make_ready(self.now).is_ok() {
            let next = next.clone();
            if aggregate.head.status != ExecutionStatus::Paused {
                self.dispatcher.join(&next);
            }
            self.batch.put_action(Write::Update(Variables::Unchanged), next);
        }
    }
}

/// A macrostep that was taken.
pub(super) struct Stepped {
    pub(super) handled: bool,
    /// Ends of actions that were over as soon as they were triggered.
    pub(super) ends: Vec<End>,
}

/// Whether a later trigger of the same action id exists.
fn is_superseded(aggregate: &Aggregate, end: &End) -> bool {
    aggregate
        .execution
        .triggered
        .get(&end.action_id)
        .is_some_and(|&latest| latest > end.ordinal)
}

fn queues(definition: &Definition) -> bool {
    definition
        .schedule
        .as_ref()
        .is_some_and(|schedule| schedule.overlap == Overlap::Queue)
}

fn limit_uses(definition: &Definition, keys: Vec<String>) -> Vec<LimitUse> {
    let limits = definition.limits.iter().zip(keys);
    limits
        .map(|(limit, key)| LimitUse {
            key,
            concurrency: limit.concurrency,
            rate: limit.rate,
        })
        .collect()
}

/// A `wait` is a due time: its seconds pass before its attempt begins, and hold no permit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the seconds were checked to be in range"
)]
fn wait_millis(definition: &Definition, config: Option<&Value>) -> Result<u64, ActionError> {
    if definition.kind != WAIT {
        return Ok(0);
    }
    let seconds = config.and_then(|config| config.get("seconds")).and_then(Value::as_f64);
    match seconds {
        Some(seconds) if (0.0..=WAIT_MAX_SECONDS).contains(&seconds) => Ok((seconds * 1_000.0) as u64),
        _ => Err(ActionError::new(
            kind::INVALID_CONFIGURATION,
            "`seconds` of a wait must be a number from 0 on",
        )),
    }
}
