//! Actions that nothing ever triggers.

use std::collections::BTreeSet;

use crate::document::Findings;
use crate::document::source::shown;
use crate::machine::load::notes::Notes;
use crate::machine::model::{Instruction, Machine};

/// Names the actions that nothing ever triggers.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let in_states = machine
        .states
        .iter()
        .flat_map(|state| state.entry.iter().chain(&state.exit));
    let in_transitions = machine.transitions.iter().flat_map(|transition| &transition.operations);
    let run: BTreeSet<usize> = in_states
        .chain(in_transitions)
        .filter_map(|operation| match operation {
            Instruction::Run(action) => Some(*action),
            _ => None,
        })
        .chain(machine.actions.iter().filter_map(|action| action.compensate))
        .collect();
    for (position, fields) in notes.actions.iter().enumerate() {
        let is_named = ["triggerState", "schedule"]
            .iter()
            .any(|name| fields.get(name).is_some());
        if !is_named && !run.contains(&position) {
            let detail = format!(
                "nothing triggers action `{}`",
                shown(fields.text("actionId").unwrap_or_default())
            );
            let remedy = "add `triggerState`, or name it in a `run` or a `compensate`";
            findings.error(&fields.at.place(), "never-triggered", detail, remedy);
        }
    }
}
