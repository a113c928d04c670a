//! Kill switches.

use sprag_core::ids::SwitchId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape};
use crate::handlers::switches::{Off, On};

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
        .refuses([requests::Code::SwitchUnknown])
}

pub(crate) fn list() -> Operation {
    operation(
        "listSwitches",
        "List the kill switches that are on or being released, oldest first",
    )
    .answers::<wire::Page<wire::Switch>>(200, "The switches.")
    .reads()
}

pub(crate) fn on() -> Operation {
    operation("putSwitchOn", "Set a kill switch: no attempt in its scope starts")
        .body::<On>()
        .answers::<wire::Switch>(201, "The new switch.")
        .located()
        .tagged()
        .writes()
        .once()
        .audited()
        .refuses([
            requests::Code::MachineUnknown,
            requests::Code::NameInvalid,
            requests::Code::ScopeUnknown,
            requests::Code::SwitchesFull,
        ])
}

pub(crate) fn show() -> Operation {
    one("showSwitch", "Show a kill switch")
        .answers::<wire::Switch>(200, "The switch.")
        .tagged()
}

pub(crate) fn held() -> Operation {
    one(
        "showHeld",
        "Show what a kill switch holds: actions that wait, and attempts that run in its scope",
    )
    .answers::<wire::HeldBySwitch>(200, "What the switch holds.")
}

pub(crate) fn release() -> Operation {
    one("releaseSwitch", "Release a kill switch")
        .if_match()
        .body::<Off>()
        .answers::<wire::ReleasedSwitch>(200, "The released switch, and what it held.")
        .writes()
        .once()
        .audited()
}
