//! `step`: one macrostep, from a cause to the next rest.
//!
//! The W3C SCXML algorithm, written as it stands there: automatic transitions first, then raised events, until nothing
//! is enabled; each microstep leaves states in reverse document order, runs the transitions' operations, and enters
//! states in document order. Pure and total: same arguments, same step; an error discards the macrostep whole.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use super::context::Context;
use super::event::Event;
use super::execution::{
    Cause, Effect, End, Execution, Fate, How, Input, Limits, Microstep, Step, StepError, TimerKey, Visit,
};
use super::model::{Instruction, Kind, Machine, StateIndex};
use super::select::Enabled;
use super::sets::Sets;
use super::state_set::StateSet;
use super::{select, trigger};
use crate::document::json::size;
use crate::expression::template::{Template, TemplateLimits};
use crate::time::Timestamp;

/// A result larger than this is kept on the action only.
pub const RESULT_KEPT_BYTES: usize = 16 * 1024;

/// Takes one macrostep. Same arguments, same step: on replay, in the simulator, on another node.
pub fn step(machine: &Machine, at: &Execution, input: &Input) -> Result<Step, StepError> {
    if !belongs(machine, at) {
        return Err(StepError::Foreign);
    }
    let mut run = Run::new(machine, at, input);
    run.prepare();
    run.macrostep()?;
    run.check_size()?;
    Ok(run.finish())
}

/// What the action at `position` comes to if it takes back what ended so: it sees that end as its event and in `results`.
pub fn compensation(machine: &Machine, at: &Execution, position: usize, end: End, now: Timestamp) -> Option<Fate> {
    let definition = machine.actions.get(position)?;
    let input = Input {
        now,
        cause: Cause::Ended(end),
        limits: Limits::default(),
    };
    let mut run = Run::new(machine, at, &input);
    run.prepare();
    Some(trigger::fate(
        definition,
        &run.context(Some(&run.event), StateIndex::ROOT),
    ))
}

/// Whether every state the execution names is one of this machine, and what history remembers can be entered.
fn belongs(machine: &Machine, at: &Execution) -> bool {
    let is_known = |state: StateIndex| state.position() < machine.states.len();
    let remembered = at.history.values().flatten().copied();
    at.active
        .iter()
        .chain(at.visits.iter().map(|visit| visit.state))
        .all(is_known)
        && at.history.keys().copied().all(is_known)
        && remembered
            .into_iter()
            .all(|state| is_known(state) && !machine.is_history(state))
}

/// A macrostep under way.
pub(super) struct Run<'a> {
    pub(super) machine: &'a Machine,
    pub(super) input: &'a Input,
    pub(super) before: &'a Execution,
    pub(super) execution: Execution,
    /// What is being answered; stays the current event for the automatic transitions that follow it.
    pub(super) event: Event<'a>,
    queue: VecDeque<Event<'a>>,
    pub(super) effects: Vec<Effect>,
    microsteps: Vec<Microstep>,
    taken: u32,
    handled: bool,
    completed: Option<Value>,
}

impl<'a> Run<'a> {
    fn new(machine: &'a Machine, at: &'a Execution, input: &'a Input) -> Self {
        Self {
            machine,
            input,
            before: at,
            execution: at.clone(),
            event: Event::of(&input.cause, machine, at, input.now),
            queue: VecDeque::new(),
            // Nearly every step is one microstep that ends a visit and begins something.
            effects: Vec::with_capacity(2),
            microsteps: Vec::with_capacity(1),
            taken: 0,
            handled: false,
            completed: None,
        }
    }

    /// What the cause changes before any transition is looked for.
    fn prepare(&mut self) {
        match &self.input.cause {
            Cause::Message(message) => self.execution.message = Some(Arc::clone(message)),
            Cause::Ended(end) => self.keep_result(end),
            Cause::Start | Cause::Timer(_) | Cause::Occurrence { .. } => {}
        }
    }

    fn keep_result(&mut self, end: &End) {
        if end.how == How::Skipped || !self.machine.results_named.contains(&end.action_id) {
            return;
        }
        let mut outcome = json!({ "success": end.how == How::Done, "result": end.result, "error": end.error });
        if size(&outcome) > RESULT_KEPT_BYTES {
            outcome = json!({
                "success": end.how == How::Done,
                "result": { "data": null, "truncated": true },
                "error": null,
            });
        }
        Arc::make_mut(&mut self.execution.results).insert(end.action_id.clone(), outcome);
    }

    /// `mainEventLoop`, for one external event.
    fn macrostep(&mut self) -> Result<(), StepError> {
        match &self.input.cause {
            Cause::Start => self.begin()?,
            Cause::Occurrence { action, visit, nominal } => {
                trigger::occurrence(self, action, *visit, *nominal);
                self.handled = true;
            }
            Cause::Message(_) | Cause::Timer(_) | Cause::Ended(_) => {
                let enabled = select::transitions(self, Some(&self.event))?;
                self.handled = !enabled.is_empty();
                self.microstep(&enabled, Some(self.event.name.to_string()))?;
            }
        }
        self.settle()
    }

    /// Automatic transitions and raised events, until nothing is left to do.
    fn settle(&mut self) -> Result<(), StepError> {
        while self.completed.is_none() {
            if self.execution.active.meets(&self.machine.automatic) {
                let automatic = select::transitions(self, None)?;
                if !automatic.is_empty() {
                    self.microstep(&automatic, None)?;
                    continue;
                }
            }
            let Some(event) = self.queue.pop_front() else {
                return Ok(());
            };
            let enabled = select::transitions(self, Some(&event))?;
            let name = event.name.to_string();
            self.event = event;
            self.microstep(&enabled, Some(name))?;
        }
        self.leave_for_good()
    }

    fn begin(&mut self) -> Result<(), StepError> {
        self.handled = true;
        let entered = self.sets().initial_set();
        self.microsteps.push(Microstep {
            entered: entered.iter().collect(),
            ..Microstep::default()
        });
        self.enter(&entered)
    }

    fn microstep(&mut self, enabled: &[Enabled<'a>], event: Option<String>) -> Result<(), StepError> {
        if enabled.is_empty() {
            return Ok(());
        }
        self.taken += 1;
        if self.taken > self.input.limits.microsteps {
            return Err(StepError::Runaway {
                limit: self.input.limits.microsteps,
            });
        }
        let mut exited = StateSet::default();
        for taken in enabled {
            exited.extend(&self.sets().exit_set(taken.domain, &self.execution.active));
        }
        self.exit(&exited)?;
        for Enabled { transition, .. } in enabled {
            self.operate(&transition.operations, transition.source, None)?;
        }
        let mut entered = StateSet::default();
        for taken in enabled {
            self.sets().add_entry_set(taken.transition, taken.domain, &mut entered);
        }
        self.microsteps.push(Microstep {
            event,
            exited: exited.iter().rev().collect(),
            entered: entered.iter().collect(),
        });
        self.enter(&entered)
    }

    /// `exitStates`: history is recorded before anything is left.
    fn exit(&mut self, exited: &StateSet) -> Result<(), StepError> {
        for state in exited.iter() {
            let remembered = self.sets().record(state, &self.execution.active);
            self.execution.history.extend(remembered);
        }
        let machine = self.machine;
        for state in exited.iter().rev() {
            self.operate(&machine.state(state).exit, state, None)?;
            self.execution.active.remove(state);
            if let Some(visit) = self.execution.visit_of(state).copied() {
                self.execution.visits.retain(|known| known.state != state);
                self.effects.push(Effect::EndVisit(visit.number));
            }
        }
        Ok(())
    }

    /// `enterStates`.
    fn enter(&mut self, entered: &StateSet) -> Result<(), StepError> {
        let machine = self.machine;
        for index in entered.iter() {
            let visit = self.begin_visit(index);
            let state = machine.state(index);
            self.operate(&state.entry, index, Some(visit))?;
            for &action in &state.triggers {
                trigger::fire(self, action, index, Some(visit));
            }
            self.start_timers(index, visit);
            if state.kind == Kind::Final {
                self.reach_final(index)?;
            }
        }
        Ok(())
    }

    fn begin_visit(&mut self, state: StateIndex) -> u64 {
        let number = self.execution.next_visit;
        self.execution.next_visit += 1;
        self.execution.active.insert(state);
        let place = self.execution.visits.partition_point(|visit| visit.state < state);
        self.execution.visits.insert(
            place,
            Visit {
                state,
                number,
                entered_at: self.input.now,
            },
        );
        number
    }

    fn start_timers(&mut self, state: StateIndex, visit: u64) {
        for (position, after) in self.machine.state(state).after.iter().enumerate() {
            let Ok(index) = u16::try_from(position) else { break };
            let due_at = self.input.now.plus(after.millis);
            self.effects.push(Effect::StartTimer {
                key: TimerKey { visit, index },
                due_at,
            });
        }
    }

    /// A final state ends its parent, and every parallel state around whose regions are all final now.
    fn reach_final(&mut self, state: StateIndex) -> Result<(), StepError> {
        let machine = self.machine;
        let output = match &machine.state(state).output {
            Some(output) => self.render(output, "output", state)?,
            None => Value::Null,
        };
        let Some(parent) = machine.state(state).parent else {
            return Ok(());
        };
        let mut around = Some(parent);
        if machine.state(parent).kind == Kind::Compound {
            if parent == StateIndex::ROOT {
                return self.complete(output);
            }
            self.raise(&machine.state(parent).done_event, output.clone());
            around = machine.state(parent).parent;
        }
        while let Some(parallel) = around.filter(|&at| self.is_parallel_done(at)) {
            if parallel == StateIndex::ROOT {
                return self.complete(output);
            }
            self.raise(&machine.state(parallel).done_event, Value::Null);
            around = machine.state(parallel).parent;
        }
        Ok(())
    }

    fn is_parallel_done(&self, state: StateIndex) -> bool {
        self.machine.state(state).kind == Kind::Parallel && self.is_in_final_state(state)
    }

    /// `isInFinalState`.
    fn is_in_final_state(&self, state: StateIndex) -> bool {
        let mut children = self.machine.child_states(state);
        match self.machine.state(state).kind {
            Kind::Compound => children
                .any(|child| self.machine.state(child).kind == Kind::Final && self.execution.active.contains(child)),
            Kind::Parallel => children.all(|child| self.is_in_final_state(child)),
            Kind::Final => self.execution.active.contains(state),
            Kind::Atomic | Kind::History(_) => false,
        }
    }

    fn complete(&mut self, output: Value) -> Result<(), StepError> {
        self.completed = Some(match &self.machine.state(StateIndex::ROOT).output {
            Some(whole) => self.render(whole, "output", StateIndex::ROOT)?,
            None => output,
        });
        Ok(())
    }

    /// `exitInterpreter`: what is still active runs its exit operations; the configuration stays to be seen.
    fn leave_for_good(&mut self) -> Result<(), StepError> {
        let machine = self.machine;
        let active = self.execution.active;
        for state in active.iter().rev() {
            self.operate(&machine.state(state).exit, state, None)?;
            if machine.state(state).kind != Kind::Final
                && let Some(visit) = self.execution.visit_of(state)
            {
                self.effects.push(Effect::EndVisit(visit.number));
            }
        }
        Ok(())
    }

    fn operate(
        &mut self,
        operations: &'a [Instruction],
        owner: StateIndex,
        visit: Option<u64>,
    ) -> Result<(), StepError> {
        for operation in operations {
            match operation {
                Instruction::Assign(assignments) => self.assign(assignments, owner)?,
                Instruction::Raise { event, payload } => {
                    let payload = match payload {
                        Some(payload) => self.render(payload, "raise", owner)?,
                        None => Value::Null,
                    };
                    self.raise(event, payload);
                }
                Instruction::Log(message) => self.log(message, owner),
                Instruction::Run(action) => trigger::fire(self, *action, owner, visit),
                Instruction::Cancel(action) => self.effects.push(Effect::CancelAction { action: *action }),
            }
        }
        Ok(())
    }

    /// All right sides see the values before the assignment.
    fn assign(&mut self, assignments: &[(String, Template)], owner: StateIndex) -> Result<(), StepError> {
        let mut values = Vec::with_capacity(assignments.len());
        for (name, template) in assignments {
            values.push((name.clone(), self.render(template, "assign", owner)?));
        }
        let variables = Arc::make_mut(&mut self.execution.variables);
        for (name, value) in values {
            variables.insert(name, value);
        }
        Ok(())
    }

    /// A line of the log never stands in the way of a step: what went wrong becomes the line.
    fn log(&mut self, message: &Template, owner: StateIndex) {
        let line = match self.render(message, "log", owner) {
            Ok(Value::String(text)) => text,
            Ok(other) => other.to_string(),
            Err(error) => error.to_string(),
        };
        self.effects.push(Effect::Log(line));
    }

    fn raise(&mut self, event: &'a str, payload: Value) {
        self.queue.push_back(Event::raised(event, payload, self.input.now));
    }

    fn render(&self, template: &Template, part: &'static str, owner: StateIndex) -> Result<Value, StepError> {
        template
            .render(&self.context(Some(&self.event), owner), TemplateLimits::default())
            .map_err(|error| StepError::Expression {
                part,
                state: self.machine.display_path(owner).to_owned(),
                detail: error.to_string(),
            })
    }

    pub(super) fn context<'b>(&'b self, event: Option<&'b Event<'b>>, owner: StateIndex) -> Context<'b> {
        Context {
            machine: self.machine,
            execution: &self.execution,
            before: &self.before.active,
            event,
            owner,
            now: self.input.now,
        }
    }

    pub(super) fn sets(&self) -> Sets<'_> {
        Sets {
            machine: self.machine,
            history: &self.execution.history,
        }
    }

    fn check_size(&self) -> Result<(), StepError> {
        let unchanged = Arc::ptr_eq(&self.execution.variables, &self.before.variables)
            && Arc::ptr_eq(&self.execution.results, &self.before.results);
        if unchanged && self.input.cause != Cause::Start {
            return Ok(());
        }
        let bytes = size(&*self.execution.variables) + size(&*self.execution.results);
        let limit = self.input.limits.variables_bytes;
        if bytes > limit {
            Err(StepError::VariablesTooLarge { bytes, limit })
        } else {
            Ok(())
        }
    }

    fn finish(self) -> Step {
        let changed = self.changed();
        Step {
            execution: self.execution,
            handled: self.handled,
            microsteps: self.microsteps,
            effects: self.effects,
            changed,
            completed: self.completed,
        }
    }

    fn changed(&self) -> Vec<String> {
        let (before, after) = (&self.before.variables, &self.execution.variables);
        if Arc::ptr_eq(before, after) {
            return Vec::new();
        }
        after
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect()
    }
}
