//! Running the test of a machine: the steps they list, and the ends of mocked actions in between.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::compare::{Mismatch, Moment, Report, compare};
use super::read::{Expect, Mock, Scenario};
use crate::machine::model::Machine;
use crate::machine::simulate::{Line, SimInput, Simulation};

/// Mocked ends and stops of the clock within one step: a machine that never rests is cut off here.
const ROUNDS_MAX: usize = 10_000;

/// Runs the test of a machine from its start.
pub fn run_scenario(scenario: &Scenario, machine: &Arc<Machine>) -> Report {
    let mismatches = Run::start(scenario, machine).finish();
    Report {
        name: scenario.name.clone(),
        line: scenario.at.line,
        passed: mismatches.is_empty(),
        mismatches,
    }
}

/// A scenario under way.
struct Run<'s> {
    scenario: &'s Scenario,
    simulation: Simulation,
    /// How often each mock has answered.
    answered: BTreeMap<String, usize>,
    /// The last step, with everything it set off.
    last: Line,
    /// All actions triggered so far.
    actions: Vec<String>,
    mismatches: Vec<Mismatch>,
}

impl<'s> Run<'s> {
    fn start(scenario: &'s Scenario, machine: &Arc<Machine>) -> Self {
        let Scenario {
            variables, key, now, ..
        } = scenario;
        let (simulation, last) = Simulation::start(Arc::clone(machine), variables.clone(), key.clone(), *now);
        let mut run = Self {
            scenario,
            simulation,
            answered: BTreeMap::new(),
            last,
            actions: Vec::new(),
            mismatches: Vec::new(),
        };
        run.answer();
        run.actions.clone_from(&run.last.actions);
        run
    }

    fn finish(mut self) -> Vec<Mismatch> {
        let steps = &self.scenario.steps;
        if !self.refused_unless_expected(0, "start", None, steps.is_empty()) {
            // What did not start cannot take a step: every further mismatch would only hide the first.
            for (position, step) in steps.iter().enumerate() {
                self.step(&step.input);
                self.actions.extend_from_slice(&self.last.actions);
                let event = self.last.event.clone().unwrap_or_default();
                let is_last = position + 1 == steps.len();
                self.refused_unless_expected(position + 1, &event, step.expect.as_ref(), is_last);
                if let Some(expect) = &step.expect {
                    self.compare(expect, Some(position + 1), &event);
                }
            }
        }
        if let Some(then) = &self.scenario.then {
            self.last.actions = std::mem::take(&mut self.actions);
            self.compare(then, None, "then");
        }
        self.mismatches
    }

    fn compare(&mut self, expect: &Expect, step: Option<usize>, event: &str) {
        let moment = Moment {
            step,
            event: event.to_owned(),
            at: expect.at,
        };
        self.mismatches
            .extend(compare(expect, &self.last, &self.simulation, &moment));
    }

    /// Notes an error that nobody expects: neither the step nor, after the last one, the end.
    fn refused_unless_expected(&mut self, step: usize, event: &str, expect: Option<&Expect>, is_last: bool) -> bool {
        let Some(error) = &self.last.error else { return false };
        let names_error = |expect: &Expect| expect.fields.contains_key("error");
        let is_expected =
            expect.is_some_and(names_error) || (is_last && self.scenario.then.as_ref().is_some_and(names_error));
        if !is_expected {
            let at = step
                .checked_sub(1)
                .and_then(|position| self.scenario.steps.get(position));
            let at = at.map_or(self.scenario.at, |step| step.at);
            let moment = Moment {
                step: Some(step),
                event: event.to_owned(),
                at,
            };
            self.mismatches
                .push(moment.mismatch("error", Value::Null, Value::from(error.as_str())));
        }
        !is_expected
    }

    fn step(&mut self, input: &SimInput) {
        match input {
            SimInput::Advance(millis) => self.advance(*millis),
            other => {
                self.last = self.simulation.feed(other.clone());
                self.answer();
            }
        }
    }

    /// Moves the clock from one due time to the next, so that mocked actions end when they are due and not later.
    fn advance(&mut self, millis: u64) {
        let end = self.simulation.now().plus(millis);
        self.last = self.simulation.feed(SimInput::Advance(0));
        self.answer();
        for _ in 0..ROUNDS_MAX {
            let now = self.simulation.now();
            if now >= end || self.last.error.is_some() {
                return;
            }
            let stop = self.simulation.next_at().map_or(end, |next| next.min(end));
            let line = self.simulation.feed(SimInput::Advance(stop.since(now)));
            let handled = line.handled;
            self.follow(line);
            self.last.handled |= handled;
            self.answer();
        }
        self.last.error = Some("runaway".to_owned());
    }

    /// Ends the mocked actions that are due, and those that this triggers.
    fn answer(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let Some(input) = self.next_answer() else { return };
            let line = self.simulation.feed(input);
            self.follow(line);
        }
        self.last.error = Some("runaway".to_owned());
    }

    fn next_answer(&mut self) -> Option<SimInput> {
        if self.last.error.is_some() || self.simulation.is_completed() {
            return None;
        }
        let mocks = &self.scenario.mocks;
        let waiting = self.simulation.waiting();
        let (action, mocked) = waiting.iter().find_map(|action| mocks.get_key_value(*action))?;
        let count = self.answered.entry(action.clone()).or_default();
        let Mock { success, result } = mocked.ends.get(*count).or_else(|| mocked.ends.last())?.clone();
        *count += 1;
        Some(SimInput::Outcome {
            action: action.clone(),
            success,
            result,
        })
    }

    /// What a step sets off belongs to it.
    fn follow(&mut self, line: Line) {
        self.last.actions.extend(line.actions);
        self.last.configuration = line.configuration;
        self.last.variables = line.variables;
        self.last.error = self.last.error.take().or(line.error);
    }
}
