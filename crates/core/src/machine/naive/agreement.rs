//! Random machines under random messages: `step` and the naive interpreter must agree on everything, always.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::chart::Id;
use super::interpreter::{Happening, Interpreter};
use super::plan::{Plan, plan};
use crate::ids::{ExecutionId, Slot};
use crate::machine::{
    Cause, Effect, Execution, Facts, Input, Kind, Limits, Machine, Message, StateIndex, Step, StepError, load_stored,
    step,
};
use crate::time::Timestamp;

/// How many machines an ordinary run tries.
const CASES: u32 = 10_000;
/// Where a run on demand finds how many more to try.
const CASES_VARIABLE: &str = "SPRAG_PROVE_CASES";
/// A machine that has not come to rest by then is as good as one that never does.
pub(super) const MICROSTEPS_MAX: u32 = 24;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

#[test]
fn step_agrees_with_the_naive_interpreter_on_random_machines() {
    let asked = std::env::var(CASES_VARIABLE).ok();
    let cases = asked.map_or(CASES, |cases| {
        cases.parse().expect("SPRAG_PROVE_CASES must be a number")
    });
    let workers = std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let each = cases.div_ceil(workers);
    let found: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(move || disagreement(each))).collect();
        running
            .into_iter()
            .filter_map(|worker| worker.join().expect("no panic"))
            .collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
    println!(
        "statecharts: both interpreters agree on {} random machines",
        each * workers
    );
}

/// Tries so many machines; the smallest one found on which the two differ.
fn disagreement(cases: u32) -> Option<String> {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let agreed = TestRunner::new(config).run(&plan(), |plan| agree(&plan).map_err(TestCaseError::fail));
    agreed.err().map(|error| error.to_string())
}

/// Runs both interpreters side by side; the error says where they part.
fn agree(plan: &Plan) -> Result<(), String> {
    let definition = plan.definition();
    let machine = load_stored(&definition).map_err(|error| format!("{error}: {definition}"))?;
    let mut pair = Pair::new(&machine);
    let mut sent = vec!["start".to_owned()];
    let mut goes_on = pair.start();
    for (kind, payload) in plan.messages() {
        match goes_on {
            Ok(true) => {
                sent.push(format!("{kind} {payload}"));
                goes_on = pair.send(kind, &payload);
            }
            Ok(false) => return Ok(()),
            Err(_) => break,
        }
    }
    goes_on
        .map(drop)
        .map_err(|error| format!("{error}, after {sent:?} of {definition}"))
}

/// An execution driven by `step`.
pub(super) struct Real<'m> {
    pub(super) machine: &'m Machine,
    pub(super) execution: Execution,
}

impl<'m> Real<'m> {
    pub(super) fn new(machine: &'m Machine) -> Self {
        let facts = Facts {
            id: ExecutionId::compose(NOW, Slot(0), 1),
            key: None,
            version: 1,
            created_at: NOW,
        };
        Self {
            machine,
            execution: Execution::new(facts, machine.variables.clone()),
        }
    }

    pub(super) fn send(&mut self, kind: &str, payload: Value) -> Result<Step, StepError> {
        self.take(Cause::Message(Arc::new(Message {
            id: "1".into(),
            kind: kind.into(),
            payload,
        })))
    }

    pub(super) fn take(&mut self, cause: Cause) -> Result<Step, StepError> {
        let limits = Limits {
            microsteps: MICROSTEPS_MAX,
            ..Limits::default()
        };
        let taken = step(
            self.machine,
            &self.execution,
            &Input {
                now: NOW,
                cause,
                limits,
            },
        )?;
        self.execution = taken.execution.clone();
        Ok(taken)
    }
}

/// Both interpreters, on the same machine.
pub(super) struct Pair<'m> {
    pub(super) real: Real<'m>,
    naive: Interpreter<'m>,
    /// What the last macrostep logged.
    pub(super) log: Vec<String>,
}

impl<'m> Pair<'m> {
    pub(super) fn new(machine: &'m Machine) -> Self {
        Self {
            real: Real::new(machine),
            naive: Interpreter::new(machine, MICROSTEPS_MAX),
            log: Vec::new(),
        }
    }

    /// Starts both. The answer is whether there is any point in going on, or what they differ in.
    pub(super) fn start(&mut self) -> Result<bool, String> {
        let before = self.real.execution.clone();
        let (taken, expected) = (self.real.take(Cause::Start), self.naive.start());
        self.settle(&before, taken, expected)
            .map(|goes_on| goes_on && !self.real.execution.active.is_empty())
    }

    /// Sends both the same message.
    pub(super) fn send(&mut self, kind: &str, payload: &Value) -> Result<bool, String> {
        let before = self.real.execution.clone();
        let taken = self.real.send(kind, payload.clone());
        let expected = self.naive.take(Happening::new(kind, payload.clone()));
        self.settle(&before, taken, expected)
    }

    fn settle(
        &mut self,
        before: &Execution,
        taken: Result<Step, StepError>,
        expected: Result<super::interpreter::Macrostep, super::interpreter::Discarded>,
    ) -> Result<bool, String> {
        let (taken, expected) = match (taken, expected) {
            (Ok(taken), Ok(expected)) => (taken, expected),
            (Err(error), Err(_)) => {
                self.log = vec![error.code().to_owned()];
                return Ok(true);
            }
            (taken, expected) => return Err(format!("step {:?}, naive {expected:?}", taken.map(|step| trace(&step)))),
        };
        same("log", &trace(&taken), &expected.trace)?;
        same("handled", &taken.handled, &expected.handled)?;
        same("output", &taken.completed, &self.naive.present.output)?;
        self.compare()?;
        sound(self.real.machine, before, &taken)?;
        self.log = expected.trace;
        Ok(taken.completed.is_none())
    }

    fn compare(&self) -> Result<(), String> {
        let Execution {
            active,
            history,
            variables,
            ..
        } = &self.real.execution;
        let present = &self.naive.present;
        let active: Vec<Id> = active.iter().map(StateIndex::position).collect();
        same(
            "configuration",
            &active,
            &self.naive.chart.in_document_order(&present.configuration),
        )?;
        let positions = |states: &[StateIndex]| states.iter().map(|state| state.position()).collect::<Vec<Id>>();
        let history = history.iter().map(|(state, kept)| (state.position(), positions(kept)));
        same("history", &history.collect(), &present.history)?;
        same("variables", &**variables, &present.variables)
    }
}

fn trace(step: &Step) -> Vec<String> {
    let lines = step.effects.iter().filter_map(|effect| match effect {
        Effect::Log(line) => Some(line.clone()),
        _ => None,
    });
    lines.collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: step {found:?}, naive {expected:?}"))
    }
}

/// What holds of every step, whatever any interpreter says.
fn sound(machine: &Machine, before: &Execution, taken: &Step) -> Result<(), String> {
    let mut active: Vec<StateIndex> = before.active.iter().collect();
    for microstep in &taken.microsteps {
        for state in &microstep.exited {
            let place = active.iter().position(|known| known == state);
            active.remove(place.ok_or_else(|| format!("{state:?} was left but not active"))?);
        }
        for state in &microstep.entered {
            if active.contains(state) {
                return Err(format!("{state:?} was entered while active"));
            }
            active.push(*state);
        }
    }
    active.sort();
    let execution = &taken.execution;
    same("microsteps", &active, &execution.active.iter().collect())?;
    same(
        "visits",
        &active,
        &execution.visits.iter().map(|visit| visit.state).collect(),
    )?;
    active.iter().try_for_each(|&state| legal(machine, &active, state))
}

/// A compound state has one active child, a parallel one all of them, and only the root has no parent.
fn legal(machine: &Machine, active: &[StateIndex], state: StateIndex) -> Result<(), String> {
    let at = machine.state(state);
    if at.parent.is_some_and(|parent| !active.contains(&parent)) {
        return Err(format!("`{}` is active outside its parent", at.path));
    }
    let children = at.children.iter().filter(|child| active.contains(child)).count();
    let regions = at.children.iter().filter(|&&child| !machine.is_history(child)).count();
    let is_legal = match at.kind {
        Kind::Compound => children == 1,
        Kind::Parallel => children == regions,
        Kind::Atomic | Kind::Final => children == 0,
        Kind::History(_) => false,
    };
    if is_legal {
        Ok(())
    } else {
        Err(format!("`{}` has {children} active children", at.path))
    }
}

/// Guards the guard: two interpreters that do nothing would agree too.
#[test]
fn random_machines_are_not_dull() {
    let mut runner = TestRunner::deterministic();
    let [
        mut refused,
        mut failed,
        mut handled,
        mut chained,
        mut completed,
        mut remembering,
    ] = [0; 6];
    for _ in 0..400 {
        let plan = plan().new_tree(&mut runner).unwrap().current();
        let machine = load_stored(&plan.definition()).unwrap();
        let mut real = Real::new(&machine);
        if real.take(Cause::Start).is_err() {
            refused += 1;
            continue;
        }
        for (kind, payload) in plan.messages() {
            let Ok(step) = real.send(kind, payload) else {
                failed += 1;
                continue;
            };
            handled += i32::from(step.handled);
            chained += i32::from(step.microsteps.len() > 1);
            remembering += i32::from(!step.execution.history.is_empty());
            if step.completed.is_some() {
                completed += 1;
                break;
            }
        }
    }
    let found = [refused, failed, handled, chained, completed, remembering];
    let least = [5, 20, 300, 60, 8, 100];
    assert!(
        found.iter().zip(least).all(|(found, least)| *found >= least),
        "{found:?}, not {least:?}"
    );
}
