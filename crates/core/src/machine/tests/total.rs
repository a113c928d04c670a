//! Whatever machine was accepted, stepping it never panics, and what is active always makes sense.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Bench;
use crate::machine::{Cause, Execution, How, Kind, Limits, Machine, StateIndex, StateSet, StepError, TimerKey};

/// A small machine as numbers: states hang below the root (0) or an earlier state.
#[derive(Clone, Debug)]
struct Plan {
    parents: Vec<usize>,
    kinds: Vec<u8>,
    transitions: Vec<(usize, u8, Vec<usize>, bool)>,
    events: Vec<u8>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let states = proptest::collection::vec((0_usize..8, 0_u8..8), 2..12);
    let targets =
        prop_oneof![6 => proptest::collection::vec(1_usize..12, 0..2), 1 => proptest::collection::vec(1_usize..12, 2)];
    let transitions = proptest::collection::vec((0_usize..12, 0_u8..4, targets, any::<bool>()), 0..12);
    let events = proptest::collection::vec(0_u8..6, 0..12);
    (states, transitions, events).prop_map(|(states, transitions, events)| Plan {
        parents: states
            .iter()
            .enumerate()
            .map(|(position, (parent, _))| parent % (position + 1))
            .collect(),
        kinds: states.iter().map(|(_, kind)| *kind).collect(),
        transitions,
        events,
    })
}

impl Plan {
    /// The states below `state`; states count from 1.
    fn children(&self, state: usize) -> Vec<usize> {
        self.parents
            .iter()
            .enumerate()
            .filter(|(_, parent)| **parent == state)
            .map(|(position, _)| position + 1)
            .collect()
    }

    /// A word for what the state is; history needs a sibling to lead to.
    fn kind(&self, state: usize) -> &'static str {
        let remembers = |state: usize| self.children(state).is_empty() && matches!(self.kinds[state - 1], 3 | 4);
        match (
            state.checked_sub(1).map(|position| self.kinds[position]),
            self.children(state).is_empty(),
        ) {
            (Some(0..3), false) => "parallel",
            (_, false) => "compound",
            (Some(0 | 1), true) => "final",
            (Some(3 | 4), true)
                if self
                    .children(self.parents[state - 1])
                    .iter()
                    .any(|&other| !remembers(other)) =>
            {
                "history"
            }
            _ => "atomic",
        }
    }

    fn definition(&self, state: usize) -> Value {
        let kind = self.kind(state);
        let mut node = json!({ "id": format!("i{state}"), "type": kind });
        if kind == "history" {
            node["history"] = json!(if self.kinds[state - 1] == 3 { "deep" } else { "shallow" });
        }
        for child in self.children(state) {
            node["states"][format!("s{child}")] = self.definition(child);
            if kind == "compound" && node.get("initial").is_none() && self.kind(child) != "history" {
                node["initial"] = json!(format!("s{child}"));
            }
        }
        let own = self
            .transitions
            .iter()
            .filter(|(source, ..)| source % (self.parents.len() + 1) == state);
        for (_, event, targets, reenter) in own.filter(|_| !matches!(kind, "final" | "history")) {
            let target = |target: &usize| format!("#i{}", (target - 1) % self.parents.len() + 1);
            let mut transition = json!({ "reenter": reenter, "actions": { "raise": format!("E{}", event + 1) } });
            if !targets.is_empty() {
                transition["target"] = targets.iter().map(target).collect();
            }
            node["on"][format!("E{event}")] = transition;
        }
        node
    }
}

/// Ancestors are active with their states; a compound has one state active, a parallel all, and leaves none.
fn makes_sense(machine: &Machine, active: &StateSet) -> bool {
    let count = |state: StateIndex| {
        machine
            .child_states(state)
            .filter(|&child| active.contains(child))
            .count()
    };
    active.contains(StateIndex::ROOT)
        && active
            .iter()
            .all(|state| machine.ancestors(state).all(|ancestor| active.contains(ancestor)))
        && active.iter().all(|state| match machine.state(state).kind {
            Kind::Compound => count(state) == 1,
            Kind::Parallel => count(state) == machine.child_states(state).count(),
            Kind::Atomic | Kind::Final => true,
            Kind::History(_) => false,
        })
}

#[test]
fn an_execution_of_another_machine_is_refused() {
    let large = "id: m\ninitial: z\nstates: {a: {}, p: {initial: b, states: {b: {}, h: {type: history}}}, z: {}}\n";
    let foreign = Bench::start(large).execution;
    let mut bench = Bench::start("id: m\ninitial: a\nstates: {a: {}}\n");
    let own = bench.execution.clone();
    let (first, last) = (
        StateIndex::from_position(1).unwrap(),
        StateIndex::from_position(5).unwrap(),
    );
    for broken in [
        foreign.clone(),
        Execution {
            visits: foreign.visits.clone(),
            ..own.clone()
        },
        Execution {
            history: [(last, vec![first])].into(),
            ..own.clone()
        },
        Execution {
            history: [(first, vec![last])].into(),
            ..own.clone()
        },
    ] {
        bench.execution = broken;
        assert_eq!(bench.send("X").unwrap_err(), StepError::Foreign);
    }
    bench.execution = own;
    assert!(bench.send("X").is_ok());
}

proptest! {
    #[test]
    fn any_machine_that_loads_can_be_stepped(plan in plan()) {
        let text = plan.definition(0).to_string();
        let options = crate::machine::LoadOptions::default();
        let loads = crate::machine::load_text(&text, crate::document::source::Format::Json, &options).machine.is_some();
        prop_assume!(loads);
        let Ok(mut bench) = Bench::start_with(&text, &Value::Null) else { return Ok(()) };
        bench.limits = Limits { microsteps: 100, ..Limits::default() };
        for event in &plan.events {
            if bench.completed.is_some() {
                break;
            }
            let before = bench.execution.clone();
            let taken = match event {
                5 => bench.take(Cause::Timer(TimerKey { visit: 1, index: 0 })),
                4 => bench.end("none", How::Failed, Value::Null),
                _ => bench.send(&format!("E{event}")),
            };
            if taken.is_err() {
                prop_assert_eq!(&bench.execution, &before);
            }
            prop_assert!(makes_sense(&bench.machine, &bench.execution.active), "{} {}", text, bench.states());
            let visited = StateSet::of(bench.execution.visits.iter().map(|visit| visit.state));
            prop_assert_eq!(visited, bench.execution.active, "every active state has its visit");
        }
    }
}
