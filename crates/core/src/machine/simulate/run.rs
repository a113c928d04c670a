//! The simulated world around `step`: a clock that only inputs move, and an execution that no store keeps.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::agenda::{Agenda, DueItem, What, due_at, end};
use super::input::SimInput;
use crate::action::ActionError;
use crate::action::error::kind;
use crate::ids::{ExecutionId, Slot};
use crate::machine::{
    Cause, Effect, End, Execution, Facts, Fate, How, Input, Limits, Machine, Message, StepError, Trigger, is_reserved,
    step,
};
use crate::text::check_key;
use crate::time::Timestamp;

/// Macrosteps one input may set off: a machine that never rests is cut off here.
const SET_OFF_MAX: usize = 10_000;

/// The result of one input.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SimulationLine")]
pub struct Line {
    /// The input; null for the start.
    pub event: Option<String>,
    /// The active atomic and final states as dotted paths, sorted.
    pub configuration: Vec<String>,
    /// Whether a transition handled the input; for an advance, whether one handled anything that became due.
    pub handled: bool,
    /// The triggered actions that would run, in order, without skipped actions and actions that are dead at once.
    pub actions: Vec<String>,
    /// The variables.
    pub variables: Map<String, Value>,
    /// The code of the reason why the input was refused, or why a step that followed it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The output of the execution, if this input completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// Why an input was refused.
#[derive(Clone, Debug)]
struct Refused {
    /// The code that the server answers with.
    code: &'static str,
    detail: String,
}

impl Refused {
    fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }
}

/// A machine under simulation.
///
/// An input that is refused changes nothing. The engine would hold an execution `failed` when a timer or the end of an
/// action errs, until a person acts; there is no person here, so the simulation drops what erred and continues.
#[derive(Clone, Debug)]
pub struct Simulation {
    machine: Arc<Machine>,
    execution: Execution,
    now: Timestamp,
    stage: SimulationStatus,
    agenda: Agenda,
    present: Present,
    messages: u64,
}

/// How far the execution is.
#[derive(Clone, Debug)]
enum SimulationStatus {
    /// Its start was refused: there is none.
    Refused,
    Running,
    Completed(Value),
}

/// What the present input has led to so far.
#[derive(Clone, Debug, Default)]
struct Present {
    triggered: Vec<String>,
    macrosteps: usize,
    error: Option<Refused>,
    /// The output, if the input completed the execution.
    output: Option<Value>,
}

impl Simulation {
    /// Starts an execution at `now`; the line says where it begins. A start that errs leaves nothing active.
    pub fn start(
        machine: Arc<Machine>,
        variables: Map<String, Value>,
        key: Option<String>,
        now: Timestamp,
    ) -> (Self, Line) {
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
            stage: SimulationStatus::Running,
            agenda: Agenda::default(),
            present: Present::default(),
            messages: 0,
        };
        let started = simulation.take(Cause::Start);
        if started.is_err() {
            simulation.stage = SimulationStatus::Refused;
        }
        let line = simulation.line(None, started);
        (simulation, line)
    }

    /// Whether a top-level final state was reached.
    pub fn is_completed(&self) -> bool {
        matches!(self.stage, SimulationStatus::Completed(_))
    }

    /// What the completed machine gave.
    pub fn output(&self) -> Option<&Value> {
        match &self.stage {
            SimulationStatus::Completed(output) => Some(output),
            SimulationStatus::Refused | SimulationStatus::Running => None,
        }
    }

    /// The simulated clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The names of actions that wait for an outcome and are due, oldest first.
    pub fn waiting(&self) -> Vec<&str> {
        let due = self.agenda.waiting(self.now);
        due.filter_map(|action| self.machine.actions.get(action))
            .map(|found| found.action_id.as_str())
            .collect()
    }

    /// When something is due next: a timer, a schedule, or an action that waits for its time.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.agenda.next_at(self.now)
    }

    /// Takes one input.
    pub fn feed(&mut self, input: SimInput) -> Line {
        self.present = Present::default();
        let name = input.name();
        let handled = match input {
            _ if matches!(self.stage, SimulationStatus::Refused) => Err(Refused::new(
                "execution-unknown",
                "there is no execution: its start was refused",
            )),
            SimInput::Message { kind, payload } => self.message(kind, payload),
            SimInput::Advance(millis) => Ok(self.advance(millis)),
            SimInput::Outcome {
                action,
                success,
                result,
            } => self.outcome(&action, success, result),
        };
        self.line(Some(name), handled)
    }

    fn message(&mut self, kind: String, payload: Value) -> Result<bool, Refused> {
        if is_reserved(&kind) {
            let detail = format!("only Sprag sends messages of type `{kind}`; use another type");
            return Err(Refused::new("reserved-type", detail));
        }
        if let Err(problem) = check_key(&kind) {
            return Err(Refused::new("name-invalid", format!("the type of a message {problem}")));
        }
        self.fire_due(self.now);
        if self.is_completed() {
            let detail = "the execution is completed and accepts no more messages";
            return Err(Refused::new("execution-closed", detail));
        }
        self.messages += 1;
        let id = format!("simulated-{}", self.messages);
        self.take(Cause::Message(Arc::new(Message { id, kind, payload })))
    }

    /// Moves the clock, stopping at every due time on the way.
    fn advance(&mut self, millis: u64) -> bool {
        let until = self.now.plus(millis);
        let handled = self.fire_due(until);
        // Cut off, the clock stands where it stopped, so that another advance continues from there.
        if self.agenda.next_due(until).is_none() {
            self.now = until;
        }
        handled
    }

    /// Fires what falls due up to `until`, each at its own time, and says whether anything was answered.
    fn fire_due(&mut self, until: Timestamp) -> bool {
        let mut handled = false;
        while let Some(DueItem { at, what }) = self.agenda.next_due(until) {
            if self.is_cut_off() {
                break;
            }
            self.now = self.now.max(at);
            match self.fire(what, at) {
                Ok(answered) => handled |= answered,
                Err(refused) => self.note(refused),
            }
        }
        handled
    }

    fn fire(&mut self, what: What, at: Timestamp) -> Result<bool, Refused> {
        let (visit, action) = match what {
            What::Timer(key) => {
                self.agenda.timers.remove(&key);
                return self.take(Cause::Timer(key));
            }
            What::Schedule { visit, action } => (visit, action),
        };
        // Every occurrence is on time here, so nothing is ever caught up with. How long an action takes is unknown here,
        // so each occurrence finds the one before it ended, whatever the schedule's overlap.
        self.agenda.schedules.remove(&(visit, action));
        let machine = Arc::clone(&self.machine);
        let Some(definition) = machine.actions.get(action) else {
            return Ok(false);
        };
        let schedule = definition.schedule.as_ref();
        if let Some(next) = schedule.and_then(|schedule| schedule.cron.next_after(at.as_millis())) {
            let next = Timestamp::from_millis(next);
            self.agenda.schedules.insert((visit, action), next);
        }
        self.take(Cause::Occurrence {
            action: definition.action_id.clone(),
            visit,
            nominal: at,
        })
    }

    /// The latest open action of that name ends.
    fn outcome(&mut self, action_id: &str, success: bool, result: Value) -> Result<bool, Refused> {
        self.fire_due(self.now);
        let machine = Arc::clone(&self.machine);
        let unknown = |detail| Refused::new("action-unknown", detail);
        let (action, definition) = machine
            .action(action_id)
            .ok_or_else(|| unknown(format!("the machine has no action `{action_id}`")))?;
        let before = self.agenda.clone();
        let Some(open) = self.agenda.take(action) else {
            return Err(unknown(self.not_open(action_id)));
        };
        let end = end(definition, open.ordinal, success, result);
        if self.is_completed() || self.is_superseded(&end) {
            return Ok(false);
        }
        let taken = self.take(Cause::Ended(end));
        if taken.is_err() {
            self.agenda = before;
        }
        taken
    }

    fn not_open(&self, action_id: &str) -> String {
        let waiting = self.waiting();
        let others = if waiting.is_empty() {
            "no action waits for an outcome".to_owned()
        } else {
            format!("`{}` wait for an outcome", waiting.join("`, `"))
        };
        format!("action `{action_id}` is not open; {others}")
    }

    /// Whether a later trigger of the same action id exists: only the latest is heard of.
    fn is_superseded(&self, end: &End) -> bool {
        let latest = self.execution.triggered.get(&end.action_id);
        latest.is_some_and(|&latest| latest > end.ordinal)
    }

    /// One macrostep, and those that follow from actions that were over as soon as they were triggered.
    fn take(&mut self, cause: Cause) -> Result<bool, Refused> {
        let (handled, ends) = self.step(cause).map_err(|error| refused(&error))?;
        let mut ends = VecDeque::from(ends);
        while let Some(end) = ends.pop_front() {
            if self.is_completed() || self.is_superseded(&end) {
                continue;
            }
            if self.is_cut_off() {
                break;
            }
            match self.step(Cause::Ended(end)) {
                Ok((_, more)) => ends.extend(more),
                Err(error) => self.note(refused(&error)),
            }
        }
        Ok(handled)
    }

    /// Whether the input has set off more than it may.
    fn is_cut_off(&mut self) -> bool {
        let is_cut_off = self.present.macrosteps >= SET_OFF_MAX;
        if is_cut_off {
            let detail = format!("one input started {SET_OFF_MAX} steps; check the machine for a loop");
            self.note(Refused::new("runaway", detail));
        }
        is_cut_off
    }

    /// Something that the input set off was discarded. The first one is reported.
    fn note(&mut self, refused: Refused) {
        self.present.error.get_or_insert(refused);
    }

    fn step(&mut self, cause: Cause) -> Result<(bool, Vec<End>), StepError> {
        self.present.macrosteps += 1;
        let input = Input {
            now: self.now,
            cause,
            limits: Limits::default(),
        };
        let taken = step(&self.machine, &self.execution, &input)?;
        self.execution = taken.execution;
        let ends = taken
            .effects
            .into_iter()
            .filter_map(|effect| self.carry_out(effect))
            .collect();
        if let Some(output) = taken.completed {
            self.present.output = Some(output.clone());
            self.stage = SimulationStatus::Completed(output);
            self.agenda.close();
        }
        Ok((taken.handled, ends))
    }

    /// Does what the engine would; an action that is over at once has an end to be fed.
    fn carry_out(&mut self, effect: Effect) -> Option<End> {
        match effect {
            Effect::Trigger(trigger) => return self.trigger(&trigger),
            Effect::StartSchedule { action, visit, next } => {
                self.agenda.schedules.insert((visit, action), next);
            }
            Effect::StartTimer { key, due_at } => {
                self.agenda.timers.insert(key, due_at);
            }
            Effect::EndVisit(visit) => self.agenda.end_visit(visit, &self.machine, self.now),
            Effect::CancelAction { action } => self.agenda.cancel(action),
            Effect::Log(_) => {}
        }
        None
    }

    fn trigger(&mut self, trigger: &Trigger) -> Option<End> {
        let definition = self.machine.actions.get(trigger.action)?;
        let over = |how, error| End {
            action_id: definition.action_id.clone(),
            ordinal: trigger.ordinal,
            how,
            event: None,
            result: Value::Null,
            error,
        };
        match &trigger.fate {
            Fate::Ready { frozen, .. } => {
                let Some(due_at) = due_at(definition, trigger, frozen.as_ref(), self.now) else {
                    let detail = "`seconds` of a wait must be a number from 0 on";
                    let error = ActionError::new(kind::INVALID_CONFIGURATION, detail);
                    return Some(over(How::Failed, Some(error)));
                };
                self.agenda.open(trigger, due_at);
                self.present.triggered.push(definition.action_id.clone());
                None
            }
            Fate::Skipped(_) => {
                let is_named = self.machine.skips_named.contains(&definition.action_id);
                is_named.then(|| over(How::Skipped, None))
            }
            Fate::Dead(error) => Some(over(How::Failed, Some(error.clone()))),
        }
    }

    fn line(&mut self, event: Option<String>, handled: Result<bool, Refused>) -> Line {
        let (handled, error) = match handled {
            Ok(handled) => (handled, self.present.error.take()),
            Err(refused) => (false, Some(refused)),
        };
        let (error, detail) = error.map(|Refused { code, detail }| (code.to_owned(), detail)).unzip();
        Line {
            event,
            configuration: self.machine.configuration(&self.execution.active),
            handled,
            actions: std::mem::take(&mut self.present.triggered),
            variables: Map::clone(&self.execution.variables),
            error,
            detail,
            output: self.present.output.take(),
        }
    }
}

/// Why a decision failed: too many microsteps by their own name, everything else by the code that clients see.
fn refused(error: &StepError) -> Refused {
    let code = match error {
        StepError::Runaway { .. } => "runaway",
        StepError::VariablesTooLarge { .. } => "variables-too-large",
        StepError::Expression { .. } | StepError::Foreign => "decision-failed",
    };
    Refused::new(code, error.to_string())
}
