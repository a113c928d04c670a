//! Limits.

use sprag_engine::command;
use sprag_wire as wire;

use super::{Operation, text};
use crate::handlers::limits::Set;

/// The group.
pub(crate) const RESOURCE: &str = "limits";

/// An operation on one key.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("key", text(), "The key.")
        .reads()
        .answers::<wire::Limit>(200, "The key as it is now.")
        .tagged()
}

pub(crate) fn list() -> Operation {
    Operation::new(
        RESOURCE,
        "listLimits",
        "Every key that is known, with what counts, runs and waits",
    )
    .continued()
    .answers::<wire::Page<wire::Limit>>(200, "The keys.")
    .reads()
}

pub(crate) fn show() -> Operation {
    one("showLimit", "A key; an unused one is there too")
}

pub(crate) fn set() -> Operation {
    one("setLimit", "Override what definitions say, from the next attempt on")
        .if_match()
        .if_none()
        .body::<Set>()
        .writes()
        .refuses([command::Code::NameInvalid, command::Code::LimitsFull])
}

pub(crate) fn clear() -> Operation {
    one("clearLimit", "Let the definitions count again")
        .if_match()
        .writes()
        .refuses([command::Code::LimitUnknown, command::Code::NameInvalid])
}
