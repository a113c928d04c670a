//! Whatever machine was accepted, stepping it never panics, and what is active always makes sense.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Bench;
use crate::machine::{Cause, Execution, How, Kind, Limits, Machine, StateIndex, StateSet, StepError, TimerKey};

#[derive(Clone, Debug)]
struct Plan {
    states: Vec<(usize, u8)>,
    transitions: Vec<(usize, u8, Vec<usize>, bool)>,
    events: Vec<u8>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let states = proptest::collection::vec((0_usize..8, 0_u8..6), 1..10);
    let targets = proptest::collection::vec(0_usize..10, 0..3);
    let transitions = proptest::collection::vec((0_usize..10, 0_u8..5, targets, any::<bool>()), 0..12);
    let events = proptest::collection::vec(0_u8..6, 0..12);
    (states, transitions, events).prop_map(|(states, transitions, events)| Plan {
        states,
        transitions,
        events,
    })
}

/// A definition of the plan: states hang below an earlier state or the root, transitions go by ids.
fn definition(plan: &Plan) -> Value {
    let mut nodes: Vec<Map<String, Value>> = Vec::new();
    for (position, (_, kind)) in plan.states.iter().enumerate() {
        let mut node = Map::new();
        node.insert("id".into(), format!("i{position}").into());
        match kind {
            1 => drop(node.insert("type".into(), "parallel".into())),
            2 => drop(node.insert("type".into(), "final".into())),
            3 => drop(node.insert("history".into(), "deep".into())),
            4 => drop(node.insert("history".into(), "shallow".into())),
            _ => {}
        }
        nodes.push(node);
    }
    for (source, event, targets, reenter) in &plan.transitions {
        let Some(node) = nodes.get_mut(source % plan.states.len()) else {
            continue;
        };
        let targets: Vec<String> = targets
            .iter()
            .map(|target| format!("#i{}", target % plan.states.len()))
            .collect();
        let mut transition = json!({ "reenter": reenter, "actions": { "raise": "E1" } });
        if !targets.is_empty() {
            transition["target"] = json!(targets);
        }
        let on = node.entry("on").or_insert_with(|| json!({}));
        on[format!("E{event}")] = transition;
    }
    let mut root = Map::new();
    for (position, (parent, _)) in plan.states.iter().enumerate().rev() {
        let node = Value::Object(nodes[position].clone());
        let parent = if position == 0 {
            None
        } else {
            (parent % (position + 1)).checked_sub(1)
        };
        let around = parent.map_or(&mut root, |parent| &mut nodes[parent]);
        let name = format!("s{position}");
        around.insert("initial".into(), name.clone().into());
        around.entry("states").or_insert_with(|| json!({}))[name] = node;
    }
    root.insert("id".into(), "m".into());
    Value::Object(root)
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
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_machine_that_loads_can_be_stepped(plan in plan()) {
        let text = definition(&plan).to_string();
        let options = crate::machine::LoadOptions::default();
        let loads = crate::machine::load_text(&text, crate::source::Format::Json, &options).machine.is_some();
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
