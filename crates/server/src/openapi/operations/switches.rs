//! Kill switches.

use sprag_engine::command;

use super::{Answer, Operation, page_of, reference};

/// The group.
pub(crate) const RESOURCE: &str = "kill switches";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one switch.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", reference("SwitchId"), "The switch's id.")
        .reads()
        .refuses([command::Code::SwitchUnknown])
}

pub(crate) fn list() -> Operation {
    operation("listSwitches", "The switches that are on, oldest first")
        .answers(Answer::json(200, "The switches.", page_of("Switch")))
        .reads()
}

pub(crate) fn on() -> Operation {
    operation(
        "putSwitchOn",
        "Put a switch on: once this is answered, no attempt in its scope begins",
    )
    .body(reference("SwitchRequest"))
    .answers(Answer::json(201, "It is on.", reference("Switch")).located().tagged())
    .writes()
    .once()
    .refuses([
        command::Code::MachineUnknown,
        command::Code::NameInvalid,
        command::Code::ScopeUnknown,
        command::Code::SwitchesFull,
    ])
}

pub(crate) fn show() -> Operation {
    one("showSwitch", "A switch that is on").answers(Answer::json(200, "The switch.", reference("Switch")).tagged())
}

pub(crate) fn release() -> Operation {
    one("releaseSwitch", "Take a switch off")
        .if_match()
        .optional_body(reference("Nothing"))
        .answers(Answer::json(200, "It is off.", reference("Switch")))
        .writes()
        .once()
}
