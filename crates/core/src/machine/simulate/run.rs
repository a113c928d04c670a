//! The simulated world around `step`: a clock, timers, schedules, and actions that wait for an outcome.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::input::SimInput;
use crate::action::{ActionError, OnExit};
use crate::ids::{ExecutionId, Slot};
use crate::machine::{
    Cause, Effect, End, Execution, Facts, Fate, How, Input, Limits, Machine, Message, StepError, TimerKey, Trigger,
    is_reserved, step,
};
use crate::schedule::{CatchUp, due};
use crate::time::Timestamp;

/// Timers and follow-ups one input may set off: a machine that never rests is cut off here.
const SET_OFF_MAX: usize = 10_000;

/// What one input led to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The input; null for the start.
    pub event: Option<String>,
    /// The active atomic and final states as dotted paths, sorted.
    pub configuration: Vec<String>,
    /// Whether a transition answered, or a timer fired.
    pub handled: bool,
    /// The actions triggered that would run, in order.
    pub actions: Vec<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// Why the input was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A machine under simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    machine: Arc<Machine>,
    execution: Execution,
    now: Timestamp,
    output: Option<Value>,
    timers: BTreeMap<TimerKey, Timestamp>,
    /// Next nominal times by visit and action.
    schedules: BTreeMap<(u64, usize), Timestamp>,
    /// Triggered actions without an outcome, oldest first.
    open: Vec<Open>,
    /// What the present input has triggered so far.
    triggered: Vec<String>,
    messages: u64,
}

#[derive(Clone, Debug)]
struct Open {
    action: usize,
    ordinal: u64,
    visit: Option<u64>,
    due_at: Timestamp,
}

impl Simulation {
    /// Starts an execution at `now`; the line says where it begins. A start that errs leaves nothing active.
    pub fn start(machine: Arc<Machine>, variables: Map<String, Value>, key: Option<String>, now: Timestamp) -> (Self, Line) {
        let mut given = machine.variables.clone();
        given.extend(variables);
        let facts = Facts {
            id: ExecutionId::compose(now, Slot(0), 1),
            key,
            version: 1,
            created_at: now,
        };
        let mut simulation = Self {
            execution: Execution::new(facts, given),
            machine,
            now,
            output: None,
            timers: BTreeMap::new(),
            schedules: BTreeMap::new(),
            open: Vec::new(),
            triggered: Vec::new(),
            messages: 0,
        };
        let fed = simulation.feed_cause(Cause::Start);
        let line = simulation.line(None, fed.map_err(|error| code(&error)));
        (simulation, line)
    }

    /// Whether a top-level final state was reached.
    pub fn is_completed(&self) -> bool {
        self.output.is_some()
    }

    /// What the completed machine gave.
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// The simulated clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The names of actions that wait for an outcome and are due, oldest first.
    pub fn waiting(&self) -> Vec<&str> {
        let due = self.open.iter().filter(|open| open.due_at <= self.now);
        due.filter_map(|open| self.machine.actions.get(open.action)).map(|found| found.action_id.as_str()).collect()
    }

    /// Takes one input.
    pub fn feed(&mut self, input: SimInput) -> Line {
        self.triggered.clear();
        let name = input.name();
        let handled = match input {
            SimInput::Message { kind, payload } => self.message(kind, payload),
            SimInput::Advance(millis) => self.advance(millis),
            SimInput::Outcome { action, success, result } => self.outcome(&action, success, result),
        };
        self.line(Some(name), handled)
    }

    fn message(&mut self, kind: String, payload: Value) -> Result<bool, &'static str> {
        if is_reserved(&kind) {
            return Err("reserved-type");
        }
        self.refuse_completed()?;
        self.messages += 1;
        let id = format!("simulated-{}", self.messages);
        self.feed_cause(Cause::Message(Message { id, kind, payload })).map_err(|error| code(&error))
    }

    fn refuse_completed(&self) -> Result<(), &'static str> {
        if self.is_completed() { Err("execution-closed") } else { Ok(()) }
    }

    /// Moves the clock, stopping at every due time on the way.
    fn advance(&mut self, millis: u64) -> Result<bool, &'static str> {
        let end = self.now.plus(millis);
        let mut fired = false;
        for _ in 0..SET_OFF_MAX {
            let Some(next) = self.next_due().filter(|due| due.at <= end) else {
                self.now = end;
                return Ok(fired);
            };
            self.now = self.now.max(next.at);
            fired |= self.fire(next.what).map_err(|error| code(&error))?;
        }
        self.now = end;
        Err("runaway")
    }

    fn next_due(&self) -> Option<DueAt> {
        if self.is_completed() {
            return None;
        }
        let timers = self.timers.iter().map(|(key, at)| DueAt { at: *at, what: What::Timer(*key) });
        let schedules = self.schedules.iter().map(|(key, at)| DueAt { at: *at, what: What::Schedule(*key) });
        timers.chain(schedules).min_by_key(|due| due.at)
    }

    fn fire(&mut self, what: What) -> Result<bool, StepError> {
        match what {
            What::Timer(key) => {
                self.timers.remove(&key);
                self.feed_cause(Cause::Timer(key))
            }
            What::Schedule((visit, action)) => self.fire_schedule(visit, action),
        }
    }

    fn fire_schedule(&mut self, visit: u64, action: usize) -> Result<bool, StepError> {
        let machine = Arc::clone(&self.machine);
        let Some(nominal) = self.schedules.remove(&(visit, action)) else { return Ok(false) };
        let Some(definition) = machine.actions.get(action) else { return Ok(false) };
        let Some(schedule) = &definition.schedule else { return Ok(false) };
        let found = due(&schedule.cron, nominal.as_millis(), self.now.as_millis(), CatchUp::All);
        if let Some(next) = found.next {
            self.schedules.insert((visit, action), Timestamp::from_millis(next));
        }
        for nominal in found.fire {
            self.feed_cause(Cause::Occurrence {
                action: definition.action_id.clone(),
                visit,
                nominal: Timestamp::from_millis(nominal),
            })?;
        }
        Ok(true)
    }

    /// The oldest open action of that name ends.
    fn outcome(&mut self, action_id: &str, success: bool, result: Value) -> Result<bool, &'static str> {
        let position = self
            .machine
            .action(action_id)
            .and_then(|(action, _)| self.open.iter().position(|open| open.action == action))
            .ok_or("action-unknown")?;
        let Open { ordinal, .. } = self.open.remove(position);
        if self.is_completed() || self.is_superseded(action_id, ordinal) {
            return Ok(false);
        }
        let end = if success {
            End {
                action_id: action_id.to_owned(),
                ordinal,
                how: How::Done,
                event: None,
                result,
                error: None,
            }
        } else {
            End {
                action_id: action_id.to_owned(),
                ordinal,
                how: How::Failed,
                event: None,
                result: Value::Null,
                error: Some(failure(&result)),
            }
        };
        self.feed_cause(Cause::Ended(end)).map_err(|error| code(&error))
    }

    fn is_superseded(&self, action_id: &str, ordinal: u64) -> bool {
        self.execution.triggered.get(action_id).is_some_and(|&latest| latest > ordinal)
    }

    /// One macrostep, and those that follow from actions that were over as soon as they were triggered.
    fn feed_cause(&mut self, cause: Cause) -> Result<bool, StepError> {
        let (handled, ends) = self.step(cause)?;
        let mut ends = VecDeque::from(ends);
        for _ in 0..SET_OFF_MAX {
            let Some(end) = ends.pop_front() else { break };
            if !self.is_completed() && !self.is_superseded(&end.action_id, end.ordinal) {
                ends.extend(self.step(Cause::Ended(end))?.1);
            }
        }
        Ok(handled)
    }

    fn step(&mut self, cause: Cause) -> Result<(bool, Vec<End>), StepError> {
        let input = Input {
            now: self.now,
            cause,
            limits: Limits::default(),
        };
        let taken = step(&self.machine, &self.execution, &input)?;
        self.execution = taken.execution;
        let mut ends = Vec::new();
        for effect in taken.effects {
            match effect {
                Effect::Trigger(trigger) => ends.extend(self.trigger(trigger)),
                Effect::StartSchedule { action, visit, next } => {
                    self.schedules.insert((visit, action), next);
                }
                Effect::StartTimer { key, due_at } => {
                    self.timers.insert(key, due_at);
                }
                Effect::EndVisit(visit) => self.end_visit(visit),
                Effect::CancelAction { action } => self.open.retain(|open| open.action != action),
                Effect::Log(_) => {}
            }
        }
        if let Some(output) = taken.completed {
            self.output = Some(output);
            self.timers.clear();
            self.schedules.clear();
        }
        Ok((taken.handled, ends))
    }

    fn trigger(&mut self, trigger: Trigger) -> Option<End> {
        let definition = self.machine.actions.get(trigger.action)?;
        let end = |how, error| End {
            action_id: definition.action_id.clone(),
            ordinal: trigger.ordinal,
            how,
            event: None,
            result: Value::Null,
            error,
        };
        match trigger.fate {
            Fate::Ready { .. } => {
                self.triggered.push(definition.action_id.clone());
                let due_at = self.now.plus(definition.delay);
                self.open.push(Open {
                    action: trigger.action,
                    ordinal: trigger.ordinal,
                    visit: trigger.visit,
                    due_at,
                });
                None
            }
            Fate::Skipped(_) => {
                self.machine.skips_named.contains(&definition.action_id).then(|| end(How::Skipped, None))
            }
            Fate::Dead(error) => Some(end(How::Failed, Some(error))),
        }
    }

    fn end_visit(&mut self, visit: u64) {
        self.timers.retain(|key, _| key.visit != visit);
        self.schedules.retain(|(of, _), _| *of != visit);
        let (machine, now) = (Arc::clone(&self.machine), self.now);
        self.open.retain(|open| {
            let rule = machine.actions.get(open.action).map(|definition| definition.on_exit).unwrap_or_default();
            open.visit != Some(visit)
                || match rule {
                    OnExit::Keep => true,
                    OnExit::CancelNotDue => open.due_at <= now,
                    OnExit::Cancel => false,
                }
        });
    }

    fn line(&mut self, event: Option<String>, handled: Result<bool, &'static str>) -> Line {
        Line {
            event,
            configuration: self.machine.configuration(&self.execution.active),
            handled: handled.unwrap_or(false),
            actions: std::mem::take(&mut self.triggered),
            variables: Map::clone(&self.execution.variables),
            error: handled.err().map(str::to_owned),
        }
    }
}

struct DueAt {
    at: Timestamp,
    what: What,
}

enum What {
    Timer(TimerKey),
    Schedule((u64, usize)),
}

/// What a decision that fails is called: too many microsteps by its own name, everything else by the one clients see.
fn code(error: &StepError) -> &'static str {
    match error {
        StepError::Runaway { .. } => "runaway",
        StepError::VariablesTooLarge { .. } => "variables-too-large",
        StepError::Expression { .. } | StepError::Foreign => "decision-failed",
    }
}

/// The error of a failed outcome: `{type, message}` where the input gives them.
fn failure(result: &Value) -> ActionError {
    let text = |name: &str, otherwise: &str| result.get(name).and_then(Value::as_str).unwrap_or(otherwise).to_owned();
    ActionError::new(text("type", crate::action::error::kind::UNKNOWN_ERROR), text("message", "the simulation says so"))
}
