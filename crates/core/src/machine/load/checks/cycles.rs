//! Automatic transitions that are sure to go round for ever.
//!
//! Only what is certain is an error: from a state that rests alone in its region, the first automatic transition of the
//! innermost state that has one is followed for as long as it has no guard. Where a guard, a history state or another
//! region has a say, nothing is claimed; the bound on microsteps is there for those.

use crate::document::Findings;
use crate::machine::load::notes::Notes;
use crate::machine::model::{Kind, Machine, StateIndex, TransitionIndex};
use crate::machine::sets::{History, Sets};
use crate::machine::state_set::StateSet;

/// Names every such cycle once.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let mut walked = StateSet::default();
    for leaf in machine.indexes().filter(|&state| machine.is_leaf(state)) {
        let Some(first) = cycle_from(machine, leaf, &mut walked) else {
            continue;
        };
        let path = machine.display_path(machine.transition(first).source);
        let detail = format!("the automatic transitions from `{path}` never come to rest");
        let remedy = "give one of them a `guard`, or wait for an event";
        if let Some(place) = notes.transitions.get(first.0) {
            findings.error(place, "always-cycle", detail, remedy);
        }
    }
}

/// The first in the file of the transitions that go round for ever from `leaf`. Where an earlier walk has been, there is
/// nothing new to find.
fn cycle_from(machine: &Machine, leaf: StateIndex, walked: &mut StateSet) -> Option<TransitionIndex> {
    let mut taken: Vec<(StateIndex, TransitionIndex)> = Vec::new();
    let mut at = leaf;
    while !walked.contains(at) {
        walked.insert(at);
        let transition = certain_transition(machine, at)?;
        taken.push((at, transition));
        at = certain_leaf(machine, at, transition)?;
    }
    let round = taken.iter().skip_while(|(state, _)| *state != at);
    round.map(|(_, transition)| *transition).min()
}

/// The automatic transition that is sure to be taken while `leaf` is active.
fn certain_transition(machine: &Machine, leaf: StateIndex) -> Option<TransitionIndex> {
    let region = region_of(machine, leaf);
    if has_company(machine, region) {
        return None;
    }
    let owner = std::iter::once(leaf)
        .chain(machine.ancestors(leaf))
        .take_while(|&state| state == region || machine.is_descendant(state, region))
        .find(|&state| !machine.state(state).always.is_empty())?;
    let &first = machine.state(owner).always.first()?;
    machine.transition(first).guard.is_none().then_some(first)
}

/// The leaf that is active afterwards, if that is certain.
fn certain_leaf(machine: &Machine, leaf: StateIndex, transition: TransitionIndex) -> Option<StateIndex> {
    let transition = machine.transition(transition);
    if transition.targets.is_empty() {
        return Some(leaf);
    }
    if transition.targets.iter().any(|&target| machine.is_history(target)) {
        return None;
    }
    let history = History::new();
    let mut entered = StateSet::default();
    let sets = Sets {
        machine,
        history: &history,
    };
    sets.add_entry_set(transition, sets.domain(transition), &mut entered);
    if entered.is_empty() {
        // The target is the atomic source itself: it stays where it is.
        return Some(leaf);
    }
    let region = region_of(machine, leaf);
    let mut leaves = entered.iter().filter(|&state| machine.is_leaf(state));
    let (next, None) = (leaves.next()?, leaves.next()) else {
        return None;
    };
    let completes = machine.state(next).kind == Kind::Final && machine.state(next).parent == Some(StateIndex::ROOT);
    let stays = region == StateIndex::ROOT || machine.is_descendant(next, region);
    (stays && !completes && region_of(machine, next) == region).then_some(next)
}

/// The innermost region of a parallel state around `leaf`, itself included, or the root.
fn region_of(machine: &Machine, leaf: StateIndex) -> StateIndex {
    let is_region = |state: StateIndex| {
        machine
            .state(state)
            .parent
            .is_some_and(|parent| machine.state(parent).kind == Kind::Parallel)
    };
    std::iter::once(leaf)
        .chain(machine.ancestors(leaf))
        .find(|&state| is_region(state))
        .unwrap_or(StateIndex::ROOT)
}

/// Whether something outside of `region` could take an automatic transition, and so end what goes on inside.
fn has_company(machine: &Machine, region: StateIndex) -> bool {
    region != StateIndex::ROOT
        && machine.indexes().any(|state| {
            let is_inside = state == region || machine.is_descendant(state, region);
            !is_inside && !machine.state(state).always.is_empty()
        })
}
