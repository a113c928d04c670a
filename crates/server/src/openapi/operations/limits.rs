//! Limits.

use sprag_engine::command;

use super::{Answer, Operation, page_of, reference, text};

/// The group.
pub(crate) const RESOURCE: &str = "limits";

/// An operation on one key.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("key", text(), "The key.")
        .reads()
        .answers(Answer::json(200, "The key as it is now.", reference("Limit")).tagged())
}

pub(crate) fn list() -> Operation {
    Operation::new(
        RESOURCE,
        "listLimits",
        "Every key that is known, with what counts, runs and waits",
    )
    .continued()
    .answers(Answer::json(200, "The keys.", page_of("Limit")))
    .reads()
}

pub(crate) fn show() -> Operation {
    one("showLimit", "A key; one that nobody uses is there too")
}

pub(crate) fn set() -> Operation {
    one("setLimit", "Override what definitions say, from the next attempt on")
        .if_match()
        .if_none()
        .body(reference("LimitRequest"))
        .writes()
        .refuses([command::Code::NameInvalid, command::Code::LimitsFull])
}

pub(crate) fn clear() -> Operation {
    one("clearLimit", "Let the definitions count again")
        .if_match()
        .writes()
        .refuses([command::Code::LimitUnknown, command::Code::NameInvalid])
}
