//! Which states can be entered, and which can be left.

use crate::document::Findings;
use crate::machine::load::Notes;
use crate::machine::model::{Kind, Machine, StateIndex, Transition};
use crate::machine::sets::{History, Sets};
use crate::machine::state_set::StateSet;

/// Names states that are never entered, and those that are never left although they are no end.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let reached = reached(machine);
    for (index, fields) in machine.indexes().zip(&notes.states) {
        let path = machine.display_path(index);
        let parent_is_reached = machine
            .state(index)
            .parent
            .is_none_or(|parent| reached.contains(parent));
        if !reached.contains(index) {
            if parent_is_reached {
                let detail = format!("no transition leads to `{path}`");
                findings.warning(
                    &fields.at.key_place(),
                    "unreachable",
                    detail,
                    "add a transition to it, or remove it",
                );
            }
        } else if machine.state(index).kind == Kind::Atomic && !can_be_left(machine, index) {
            let detail = format!("nothing leads out of `{path}`, and it is not final");
            let remedy = "make it `type: final`, or add a transition";
            findings.warning(&fields.at.key_place(), "no-way-out", detail, remedy);
        }
    }
}

/// Every state that some sequence of transitions enters, whatever their guards say.
fn reached(machine: &Machine) -> StateSet {
    let history = History::new();
    let sets = Sets {
        machine,
        history: &history,
    };
    let mut reached = sets.initial_set();
    let mut waiting: Vec<&Transition> = machine.transitions.iter().collect();
    loop {
        let (ready, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|taken| reached.contains(taken.source));
        if ready.is_empty() {
            return reached;
        }
        for transition in ready {
            sets.add_entry_set(transition, sets.domain(transition), &mut reached);
            transition.targets.iter().for_each(|&target| reached.insert(target));
        }
        waiting = rest;
    }
}

fn can_be_left(machine: &Machine, leaf: StateIndex) -> bool {
    let inside = |state: StateIndex, outer: StateIndex| state == outer || machine.is_descendant(state, outer);
    let parallel = machine
        .ancestors(leaf)
        .filter(|&state| machine.state(state).kind == Kind::Parallel)
        .last();
    machine.transitions.iter().any(|transition| {
        let leads_on = !transition.targets.is_empty() && transition.targets != [leaf];
        // The state itself, a state around it, or another region may end it.
        let is_around = inside(leaf, transition.source);
        let is_beside = parallel.is_some_and(|parallel| {
            inside(transition.source, parallel) && transition.targets.iter().any(|&target| !inside(target, parallel))
        });
        leads_on && (is_around || is_beside)
    })
}
