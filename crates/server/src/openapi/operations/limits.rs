//! Limits.

use sprag_engine::requests;
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
        .answers::<wire::Limit>(200, "The limit of the key.")
        .tagged()
}

pub(crate) fn list() -> Operation {
    Operation::new(RESOURCE, "listLimits", "List limits with running and waiting actions")
        .continued()
        .answers::<wire::Page<wire::Limit>>(200, "The keys.")
        .reads()
}

pub(crate) fn show() -> Operation {
    one("showLimit", "Show a key, even an unused one")
}

pub(crate) fn set() -> Operation {
    one("setLimit", "Override the limit of a key")
        .if_match()
        .if_none()
        .body::<Set>()
        .audited()
        .writes()
        .refuses([requests::Code::NameInvalid, requests::Code::LimitsFull])
}

pub(crate) fn clear() -> Operation {
    one("clearLimit", "Clear the override of a key")
        .audited()
        .if_match()
        .writes()
        .refuses([requests::Code::LimitUnknown, requests::Code::NameInvalid])
}
