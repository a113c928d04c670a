//! The naive interpreter: what is active, what is remembered, and the loop around microsteps.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use super::chart::{Chart, Id, ROOT};
use super::entering::Move;
use crate::expression::scope::{Path, Scope};
use crate::expression::template::{Template, TemplateLimits};
use crate::machine::{Depth, Instruction, Kind, Machine, Transition};

/// A macrostep that errs, or does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Discarded;

/// An event: its name and what it carries.
#[derive(Clone, Debug)]
pub(super) struct Happening {
    pub(super) name: String,
    pub(super) payload: Value,
}

impl Happening {
    pub(super) fn new(name: &str, payload: Value) -> Self {
        Self {
            name: name.to_owned(),
            payload,
        }
    }
}

/// Everything that changes.
#[derive(Clone)]
pub(super) struct Present {
    /// The active states, in the order they were entered.
    pub(super) configuration: Vec<Id>,
    pub(super) history: BTreeMap<Id, Vec<Id>>,
    pub(super) variables: Map<String, Value>,
    pub(super) output: Option<Value>,
}

/// What a macrostep gave.
#[derive(Debug, PartialEq)]
pub(super) struct Macrostep {
    pub(super) handled: bool,
    /// The lines of the log.
    pub(super) trace: Vec<String>,
}

/// One execution.
pub(super) struct Interpreter<'m> {
    pub(super) chart: Chart<'m>,
    pub(super) present: Present,
    pub(super) event: Happening,
    queue: VecDeque<Happening>,
    trace: Vec<String>,
    microsteps: u32,
    limit: u32,
}

impl<'m> Interpreter<'m> {
    pub(super) fn new(machine: &'m Machine, limit: u32) -> Self {
        let present = Present {
            configuration: Vec::new(),
            history: BTreeMap::new(),
            variables: machine.variables.clone(),
            output: None,
        };
        Self {
            chart: Chart::new(machine),
            present,
            event: Happening::new("sprag.start", Value::Null),
            queue: VecDeque::new(),
            trace: Vec::new(),
            microsteps: 0,
            limit,
        }
    }

    /// `interpret`: enters the machine.
    pub(super) fn start(&mut self) -> Result<Macrostep, Discarded> {
        self.whole(|this| {
            let entered = this.initial_states();
            this.enter(&entered)?;
            Ok(true)
        })
    }

    /// One external event.
    pub(super) fn take(&mut self, event: Happening) -> Result<Macrostep, Discarded> {
        self.event = event;
        self.whole(|this| {
            let enabled = this.select(true)?;
            this.microstep(&enabled)?;
            Ok(!enabled.is_empty())
        })
    }

    /// A macrostep is taken whole or not at all.
    fn whole(&mut self, first: impl FnOnce(&mut Self) -> Result<bool, Discarded>) -> Result<Macrostep, Discarded> {
        let before = self.present.clone();
        self.queue.clear();
        self.trace.clear();
        self.microsteps = 0;
        let taken = first(self).and_then(|handled| self.main_event_loop().map(|()| handled));
        match taken {
            Ok(handled) => Ok(Macrostep {
                handled,
                trace: std::mem::take(&mut self.trace),
            }),
            Err(discarded) => {
                self.present = before;
                Err(discarded)
            }
        }
    }

    /// `mainEventLoop`, up to where it would wait for an external event.
    fn main_event_loop(&mut self) -> Result<(), Discarded> {
        while self.is_running() {
            let mut enabled = self.select(false)?;
            if enabled.is_empty() {
                match self.queue.pop_front() {
                    None => return Ok(()),
                    Some(event) => {
                        self.event = event;
                        enabled = self.select(true)?;
                    }
                }
            }
            self.microstep(&enabled)?;
        }
        self.exit_interpreter()
    }

    fn is_running(&self) -> bool {
        self.present.output.is_none()
    }

    /// `exitInterpreter`, except that what was active at the end stays to be seen.
    fn exit_interpreter(&mut self) -> Result<(), Discarded> {
        for state in self.in_exit_order(&self.present.configuration) {
            self.execute(&self.chart.state(state).exit)?;
        }
        Ok(())
    }

    fn in_exit_order(&self, states: &[Id]) -> Vec<Id> {
        self.chart.in_document_order(states).into_iter().rev().collect()
    }

    fn microstep(&mut self, enabled: &[&'m Transition]) -> Result<(), Discarded> {
        if enabled.is_empty() {
            return Ok(());
        }
        self.microsteps += 1;
        if self.microsteps > self.limit {
            return Err(Discarded);
        }
        let moves: Vec<Move<'m>> = enabled.iter().map(|transition| self.plan(transition)).collect();
        self.exit_states(enabled)?;
        for transition in enabled {
            self.execute(&transition.operations)?;
        }
        let entered = self.entry_set(&moves);
        self.enter(&entered)
    }

    /// `exitStates`.
    fn exit_states(&mut self, enabled: &[&'m Transition]) -> Result<(), Discarded> {
        let exited = self.in_exit_order(&self.exit_set(enabled));
        for &state in &exited {
            for history in self.chart.histories(state) {
                let remembered = self.worth_remembering(state, history);
                self.present.history.insert(history, remembered);
            }
        }
        for state in exited {
            self.execute(&self.chart.state(state).exit)?;
            self.present.configuration.retain(|&active| active != state);
        }
        Ok(())
    }

    fn worth_remembering(&self, left: Id, history: Id) -> Vec<Id> {
        let is_kept = |&active: &Id| match self.chart.kind(history) {
            Kind::History(Depth::Deep) => self.chart.is_atomic(active) && self.chart.is_descendant(active, left),
            _ => self.chart.parent(active) == Some(left),
        };
        let kept: Vec<Id> = self.present.configuration.iter().copied().filter(is_kept).collect();
        self.chart.in_document_order(&kept)
    }

    /// `enterStates`.
    fn enter(&mut self, entered: &[Id]) -> Result<(), Discarded> {
        for state in self.chart.in_document_order(entered) {
            self.present.configuration.push(state);
            self.execute(&self.chart.state(state).entry)?;
            if self.chart.kind(state) == Kind::Final {
                self.announce_end(state)?;
            }
        }
        Ok(())
    }

    /// What reaching a final state raises. The W3C text looks at the parent and the grandparent only, and knows no
    /// final state right inside a parallel one; the design says that *every* parallel state whose regions are all
    /// final is done, so this continues upwards for as long as that holds.
    fn announce_end(&mut self, state: Id) -> Result<(), Discarded> {
        let output = match &self.chart.state(state).output {
            Some(output) => self.render(output)?,
            None => Value::Null,
        };
        let Some(parent) = self.chart.parent(state) else {
            return Ok(());
        };
        if self.chart.is_parallel(parent) {
            return self.announce_parallel(Some(parent), &output);
        }
        if parent == ROOT {
            return self.complete(output);
        }
        self.raise(&self.chart.state(parent).done_event, output.clone());
        self.announce_parallel(self.chart.parent(parent), &output)
    }

    fn announce_parallel(&mut self, state: Option<Id>, output: &Value) -> Result<(), Discarded> {
        let Some(state) = state.filter(|&state| self.chart.is_parallel(state) && self.is_in_final_state(state)) else {
            return Ok(());
        };
        if state == ROOT {
            return self.complete(output.clone());
        }
        self.raise(&self.chart.state(state).done_event, Value::Null);
        self.announce_parallel(self.chart.parent(state), output)
    }

    fn complete(&mut self, output: Value) -> Result<(), Discarded> {
        let whole = self.chart.state(ROOT).output.as_ref();
        let output = whole.map_or(Ok(output), |whole| self.render(whole))?;
        self.present.output = Some(output);
        Ok(())
    }

    /// `isInFinalState`.
    fn is_in_final_state(&self, state: Id) -> bool {
        let is_active = |id: &Id| self.present.configuration.contains(id);
        let children = self.chart.child_states(state);
        match self.chart.kind(state) {
            Kind::Compound => children
                .iter()
                .any(|child| self.chart.kind(*child) == Kind::Final && is_active(child)),
            Kind::Parallel => children.iter().all(|child| self.is_in_final_state(*child)),
            Kind::Final => is_active(&state),
            Kind::Atomic | Kind::History(_) => false,
        }
    }

    /// `executeContent`.
    fn execute(&mut self, operations: &'m [Instruction]) -> Result<(), Discarded> {
        for operation in operations {
            match operation {
                Instruction::Assign(assignments) => self.assign(assignments)?,
                Instruction::Raise { event, payload } => {
                    let payload = payload
                        .as_ref()
                        .map_or(Ok(Value::Null), |payload| self.render(payload))?;
                    self.raise(event, payload);
                }
                Instruction::Log(line) => {
                    let line = self.render(line)?;
                    self.trace
                        .push(line.as_str().map_or_else(|| line.to_string(), str::to_owned));
                }
                Instruction::Run(_) | Instruction::Cancel(_) => {}
            }
        }
        Ok(())
    }

    fn assign(&mut self, assignments: &[(String, Template)]) -> Result<(), Discarded> {
        let mut values = Map::new();
        for (name, template) in assignments {
            values.insert(name.clone(), self.render(template)?);
        }
        self.present.variables.extend(values);
        Ok(())
    }

    fn raise(&mut self, name: &str, payload: Value) {
        self.queue.push_back(Happening::new(name, payload));
    }

    fn render(&self, template: &Template) -> Result<Value, Discarded> {
        match template.constant() {
            Some(constant) => Ok(constant.clone()),
            None => template
                .render(&self.scope(), TemplateLimits::default())
                .map_err(|_| Discarded),
        }
    }

    /// What expressions see, as plain JSON.
    pub(super) fn scope(&self) -> Plain {
        let event = json!({ "type": self.event.name, "payload": self.event.payload });
        let active = self
            .present
            .configuration
            .iter()
            .map(|&state| self.chart.state(state).name.clone());
        Plain {
            data: json!({ "variables": self.present.variables, "event": event }),
            active: active.collect(),
        }
    }
}

/// Plain JSON and the names of the active states.
pub(super) struct Plain {
    data: Value,
    active: Vec<String>,
}

impl Scope for Plain {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        self.data.lookup(path)
    }

    fn in_state(&self, target: &str) -> bool {
        self.active.iter().any(|name| name == target)
    }
}
