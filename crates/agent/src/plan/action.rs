//! Checks the action of a plan: its definition compiles, and its scenarios fit it.

use sprag_core::document::source::{Document, Place, Position};
use sprag_core::document::{Fields, Finding, Findings, Reader};
use sprag_core::machine::testing::{TestSubject, check_mocks, read_mock};
use sprag_runners::reach;

use super::load::action;
use super::model::{ActionCall, is_machine};

/// Scenarios of one plan at most.
const SCENARIOS_MAX: usize = 1_000;

/// Checks an action whose shape was checked before.
pub(super) fn check(reader: &mut Reader, fields: &Fields<'_>) {
    let Some(call) = action(fields) else {
        return;
    };
    machine(reader, fields, &call);
    if reader.findings.has_errors() {
        return;
    }
    let place = fields.place_of("definition");
    let subject = match call.subject() {
        Ok(subject) => subject,
        Err(found) => {
            for finding in found {
                reader.findings.adopt(moved(finding, &place, &call.definition));
            }
            return;
        }
    };
    external(reader, fields, &subject);
    scenarios(reader, fields, &subject);
}

/// A machine needs `actionId`, and nothing else has one.
fn machine(reader: &mut Reader, fields: &Fields<'_>, call: &ActionCall) {
    let is_machine = is_machine(&call.definition.value);
    if is_machine && call.action_id.is_none() {
        let detail = "`definition` is a machine, and `actionId` is missing";
        reader.error(&fields.at.place(), "missing-key", detail, "name one of its actions");
    }
    if is_machine && call.templates.is_some() {
        let detail = "`templates` is for an action definition: a machine has its own";
        reader.refuse(&fields.place_of("templates"), detail, "remove it");
    }
    let own = call.definition.value.get("actionId").and_then(|own| own.as_str());
    if !is_machine && call.action_id.is_some() && call.action_id.as_deref() != own {
        let detail = format!(
            "`actionId` differs from the one of the definition, `{}`",
            own.unwrap_or_default()
        );
        reader.refuse(&fields.place_of("actionId"), detail, "remove it");
    }
}

/// An agent performs actions itself.
fn external(reader: &mut Reader, fields: &Fields<'_>, subject: &TestSubject) {
    let Some(definition) = subject.definition() else { return };
    let place = fields.place_of("definition");
    if let Some(runner) = &definition.runner {
        let detail = format!("the external runner `{runner}` performs this action, and an agent has none");
        reader.refuse(
            &place,
            detail,
            "load the target with the workload `http`, or remove `runner`",
        );
    }
    if !definition.enabled {
        reader.refuse(&place, "the action has `enabled: false`", "enable it");
    }
}

fn scenarios(reader: &mut Reader, fields: &Fields<'_>, subject: &TestSubject) {
    let scenarios = fields.maps("scenarios");
    if scenarios.len() > SCENARIOS_MAX {
        let detail = format!("there are `{}` scenarios, more than {SCENARIOS_MAX}", scenarios.len());
        reader.refuse(&fields.place_of("scenarios"), detail, "remove some");
        return;
    }
    let kind = subject.definition().map_or("", |definition| definition.kind.as_str());
    let reach = reach(kind, &subject.config());
    for scenario in &scenarios {
        if scenario.get("mock").is_some_and(|mock| mock.is_empty()) {
            let place = scenario.place_of("mock");
            reader.refuse(&place, "`mock` is empty", "add an entry, such as `{ status: 200 }`");
        }
        for entry in scenario.maps("mock") {
            let mut findings = Findings::default();
            let mock = read_mock(&entry, &mut findings);
            check_mocks([&mock], kind, reach, &mut findings);
            for finding in findings.finish() {
                let pointer = match finding.pointer.as_str() {
                    "" => entry.at.place().pointer,
                    known => known.to_owned(),
                };
                reader.findings.adopt(Finding { pointer, ..finding });
            }
        }
    }
}

/// A finding in a definition, as a finding in the plan.
fn moved(finding: Finding, place: &Place, definition: &Document) -> Finding {
    let written = definition.root().inside(&finding.pointer);
    let Position { line, column } = if written.at == Position::START {
        place.at
    } else {
        written.at
    };
    Finding {
        line,
        column,
        pointer: format!("{}{}", place.pointer, finding.pointer),
        ..finding
    }
}
