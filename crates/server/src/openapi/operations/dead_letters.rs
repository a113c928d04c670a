//! Dead letters.

use sprag_core::ids::ActionId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape, text};
use crate::problem::Code;
use crate::request::body::NoFields;

/// The group.
pub(crate) const RESOURCE: &str = "dead letters";

/// An operation on one dead letter.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::Action>(200, "The action.")
        .refuses([requests::Code::ActionUnknown])
}

pub(crate) fn list() -> Operation {
    Operation::new(RESOURCE, "listDeadLetters", "List dead letters, newest first")
        .query("type", text(), "Only of this type.")
        .query("machine", text(), "Only of this machine.")
        .query("error", text(), "Only with this type of last error.")
        .query("tag", text(), "Only with this tag.")
        .query("fingerprint", text(), "Only with this fingerprint.")
        .query(
            "olderThan",
            Shape::of::<wire::Duration>(),
            "Only if dead for longer than this.",
        )
        .query(
            "newerThan",
            Shape::of::<wire::Duration>(),
            "Only if dead for less than this.",
        )
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Action>>(200, "The dead letters.")
        .reads()
}

pub(crate) fn show() -> Operation {
    Operation::new(
        RESOURCE,
        "showDeadLetter",
        "Show the case file: cause, request, similar failures, and suggested fix",
    )
    .path("id", Shape::of::<ActionId>(), "The action's id.")
    .reads()
    .answers::<wire::CaseFile>(200, "The case file.")
    .refuses([requests::Code::ActionUnknown])
    .refuses([Code::DeadLetterUnknown])
}

pub(crate) fn retry() -> Operation {
    one(
        "retryDeadLetter",
        "Retry a dead letter: unchanged, with another configuration, with a patch, or on another version",
    )
    .body::<wire::RetryRequest>()
    .writes()
    .once()
    .audited()
    .refuses([
        requests::Code::StatusConflict,
        requests::Code::VersionUnknown,
        requests::Code::EditInvalid,
    ])
}

pub(crate) fn archive() -> Operation {
    one("archiveDeadLetter", "Archive a dead letter")
        .body::<NoFields>()
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}
