//! Values that may not be there when an expression asks for them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::Findings;
use crate::document::source::shown;
use crate::machine::event::is_reserved;
use crate::machine::load::{Notes, Site, Use};
use crate::machine::model::{Descriptor, Instruction, Machine, StateIndex, TransitionIndex};
use crate::machine::sets::{History, Sets};
use crate::machine::state_set::StateSet;

/// Names variables that nothing sets, and results of unknown actions.
pub(super) fn check_names(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let variables = variables(machine);
    for found in &notes.uses {
        if let Some(name) = variable(found)
            && !variables.contains(name)
        {
            unknown_variable(found, name, &variables, findings);
        }
        unknown_result(machine, found, findings);
    }
}

/// Names messages that need not be the cause.
pub(super) fn check_messages(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let without_message = entered_without_message(machine);
    for found in &notes.uses {
        if found.path.root() == Some("message")
            && let Some(state) = owner(machine, found.site)
            && without_message.contains(state)
        {
            let path = machine.display_path(state);
            let detail = format!(
                "`{}` can be entered without a message, or because of something else",
                shown(path)
            );
            let remedy = "name `event`, or keep what is needed in a variable when the message arrives";
            findings.warning(&found.place(), "message-not-cause", detail, remedy);
        }
    }
}

/// The variable that a path reads.
fn variable<'u>(found: &'u Use<'_>) -> Option<&'u str> {
    let segments: Vec<&str> = found.path.segments().iter().map(AsRef::as_ref).collect();
    match segments.as_slice() {
        ["variables", name, ..] | ["execution", "variables", name, ..] => Some(name),
        _ => None,
    }
}

/// Every variable that a start gives, the machine defaults, or some operation assigns.
fn variables(machine: &Machine) -> BTreeSet<&str> {
    let mut names: BTreeSet<&str> = machine.variables.keys().map(String::as_str).collect();
    if let Some(input) = &machine.input {
        let properties = input.get("properties").and_then(Value::as_object);
        names.extend(
            properties
                .into_iter()
                .flat_map(|properties| properties.keys())
                .map(String::as_str),
        );
        let required = input.get("required").and_then(Value::as_array);
        names.extend(required.into_iter().flatten().filter_map(Value::as_str));
    }
    let in_states = machine
        .states
        .iter()
        .flat_map(|state| state.entry.iter().chain(&state.exit));
    let in_transitions = machine.transitions.iter().flat_map(|transition| &transition.operations);
    for operation in in_states.chain(in_transitions) {
        if let Instruction::Assign(assignments) = operation {
            names.extend(assignments.iter().map(|(name, _)| name.as_str()));
        }
    }
    names
}

fn unknown_variable(found: &Use<'_>, name: &str, known: &BTreeSet<&str>, findings: &mut Findings) {
    let detail = format!("nothing gives variable `{}` a value", shown(name));
    let remedy = match findings.nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "name it in `input`, `variables` or an `assign`".to_owned(),
    };
    findings.warning(&found.place(), "unknown-variable", detail, remedy);
}

fn unknown_result(machine: &Machine, found: &Use<'_>, findings: &mut Findings) {
    let [root, id, ..] = found.path.segments() else { return };
    if root.as_ref() != "results" || machine.action(id).is_some() {
        return;
    }
    let detail = format!(
        "`{}` never has a value: there is no such action",
        shown(&found.path.to_string())
    );
    let remedy = match findings.nearest(id, machine.actions.iter().map(|action| action.action_id.as_str())) {
        Some(nearest) => format!("did you mean `results.{nearest}`?"),
        None => "name an action of this machine".to_owned(),
    };
    findings.warning(&found.place(), "unknown-end", detail, remedy);
}

/// The state whose entry evaluates the expression, where that is what evaluates it.
fn owner(machine: &Machine, site: Site) -> Option<StateIndex> {
    match site {
        Site::Entry(state) => Some(state),
        Site::Condition(action) | Site::Config(action) | Site::LimitKey(action) => machine
            .indexes()
            .find(|&state| machine.state(state).triggers.contains(&action)),
        Site::Guard(_) | Site::Taken(_) | Site::Exit(_) | Site::Output(_) => None,
    }
}

/// The states that are entered at the start, by a timer, or by the end of an action. An automatic transition has the
/// cause of what came before it, so nothing is claimed of those.
fn entered_without_message(machine: &Machine) -> StateSet {
    let history = History::new();
    let sets = Sets {
        machine,
        history: &history,
    };
    let mut entered = sets.initial_set();
    for state in &machine.states {
        let by_time = state.after.iter().flat_map(|after| &after.transitions);
        let by_end = state.on.iter().filter(|(descriptor, _)| is_never_a_message(descriptor));
        let transitions: Vec<TransitionIndex> = by_time.chain(by_end.flat_map(|(_, taken)| taken)).copied().collect();
        for index in transitions {
            let transition = machine.transition(index);
            sets.add_entry_set(transition, sets.domain(transition), &mut entered);
        }
    }
    entered
}

fn is_never_a_message(descriptor: &Descriptor) -> bool {
    match descriptor {
        Descriptor::Exact(name) => is_reserved(name) && !name.starts_with("done.state."),
        Descriptor::Prefix(prefix) => is_reserved(&format!("{prefix}.")) && !prefix.starts_with("done"),
        Descriptor::Any => false,
    }
}
