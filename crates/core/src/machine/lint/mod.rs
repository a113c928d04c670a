//! Warnings: the machine works, but perhaps not as meant.
//!
//! A warning must be right whenever it is given; where a machine could be meant either way, lint is silent.

mod data;
mod reach;
mod secrets;
mod units;

use super::load::Notes;
use super::model::{Descriptor, Instruction, Kind, Machine, StateIndex};
use crate::document::Findings;
use crate::document::source::shown;

/// Names everything doubtful. What is missing or misspelled makes other things look unused, and states that are each
/// other's children have no end: so doubts about the structure wait until it is sound. The others are said at once.
pub(super) fn lint(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings, is_sound: bool) {
    if is_sound {
        reach::check(machine, notes, findings);
        self_targets(machine, notes, findings);
        unhandled_failures(machine, notes, findings);
        unknown_ends(machine, notes, findings);
        data::check_messages(machine, notes, findings);
    }
    data::check_names(machine, notes, findings);
    secrets::check(notes, findings);
    units::check(notes, findings);
}

fn self_targets(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    for (transition, place) in machine.transitions.iter().zip(&notes.transitions) {
        if transition.targets == [transition.source] && !transition.reenter {
            let path = machine.display_path(transition.source);
            let detail = format!("the transition from `{path}` to itself neither leaves nor enters it");
            findings.warning(place, "self-target", detail, "add `reenter: true`, or remove `target`");
        }
    }
}

/// Actions whose failure no transition answers. What a final state of the machine triggers runs after the execution has
/// closed, so no transition can.
fn unhandled_failures(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    for (position, (action, fields)) in machine.actions.iter().zip(&notes.actions).enumerate() {
        if !action.enabled
            || only_at_the_end(machine, position)
            || machine.handles(&format!("failed.{}", action.action_id))
        {
            continue;
        }
        let id = &action.action_id;
        let detail = format!("nothing handles the failure of action `{id}`");
        let remedy = format!("add a transition on `failed.{id}`, or on `failed.*`");
        findings.warning(&fields.place_of("actionId"), "unhandled-failure", detail, remedy);
    }
}

fn only_at_the_end(machine: &Machine, action: usize) -> bool {
    let ends = |index: StateIndex| {
        machine.state(index).kind == Kind::Final && machine.state(index).parent == Some(StateIndex::ROOT)
    };
    let mut owners = machine.indexes().filter(|&index| {
        let state = machine.state(index);
        state.triggers.contains(&action) || runs(&state.entry, action) || runs(&state.exit, action)
    });
    let by_transition = machine
        .transitions
        .iter()
        .any(|transition| runs(&transition.operations, action));
    !by_transition && owners.all(ends)
}

fn runs(operations: &[Instruction], action: usize) -> bool {
    operations
        .iter()
        .any(|operation| matches!(operation, Instruction::Run(named) if *named == action))
}

/// Transitions on the end of an action or a state that does not exist.
fn unknown_ends(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let ends = known_ends(machine);
    for (descriptor, transitions) in machine.states.iter().flat_map(|state| &state.on) {
        let Descriptor::Exact(name) = descriptor else { continue };
        let is_end = ["done.", "failed.", "skipped."]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if !is_end || ends.iter().any(|known| known == name) {
            continue;
        }
        let detail = format!("`{}` never happens: there is no such action or state", shown(name));
        let remedy = match findings.nearest(name, ends.iter().map(String::as_str)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "name an action of this machine".to_owned(),
        };
        if let Some(place) = transitions.first().and_then(|index| notes.transitions.get(index.0)) {
            findings.warning(place, "unknown-end", detail, remedy);
        }
    }
}

fn known_ends(machine: &Machine) -> Vec<String> {
    let of_actions = machine.actions.iter().flat_map(|action| {
        let id = &action.action_id;
        [format!("done.{id}"), format!("failed.{id}"), format!("skipped.{id}")]
    });
    let of_states = machine.states.iter().map(|state| state.done_event.clone());
    let in_states = machine
        .states
        .iter()
        .flat_map(|state| state.entry.iter().chain(&state.exit));
    let in_transitions = machine.transitions.iter().flat_map(|transition| &transition.operations);
    let raised = in_states.chain(in_transitions).filter_map(|operation| match operation {
        Instruction::Raise { event, .. } => Some(event.clone()),
        _ => None,
    });
    of_actions.chain(of_states).chain(raised).collect()
}
