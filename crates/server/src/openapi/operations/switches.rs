//! Kill switches.

use sprag_core::ids::SwitchId;
use sprag_engine::command;
use sprag_wire as wire;

use super::{Operation, Shape};
use crate::body::NoFields;
use crate::handlers::switches::On;

/// The group.
pub(crate) const RESOURCE: &str = "kill switches";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one switch.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<SwitchId>(), "The switch's id.")
        .reads()
        .refuses([command::Code::SwitchUnknown])
}

pub(crate) fn list() -> Operation {
    operation("listSwitches", "The switches that are on, oldest first")
        .answers::<wire::Page<wire::Switch>>(200, "The switches.")
        .reads()
}

pub(crate) fn on() -> Operation {
    operation(
        "putSwitchOn",
        "Put a switch on: once this is answered, no attempt in its scope begins",
    )
    .body::<On>()
    .answers::<wire::Switch>(201, "It is on.")
    .located()
    .tagged()
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
    one("showSwitch", "A switch that is on")
        .answers::<wire::Switch>(200, "The switch.")
        .tagged()
}

pub(crate) fn release() -> Operation {
    one("releaseSwitch", "Take a switch off")
        .if_match()
        .body::<NoFields>()
        .answers::<wire::Switch>(200, "It is off.")
        .writes()
        .once()
}
