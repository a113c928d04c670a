//! Dead letters.

use sprag_core::ids::ActionId;
use sprag_engine::command;
use sprag_wire as wire;

use super::{Operation, Shape, text};
use crate::body::NoFields;
use crate::handlers::dead_letters::Retry;
use crate::problem::Code;

/// The group.
pub(crate) const RESOURCE: &str = "dead letters";

/// An operation on one dead letter.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::Action>(200, "The action as it is now.")
        .refuses([command::Code::ActionUnknown])
}

pub(crate) fn list() -> Operation {
    Operation::new(RESOURCE, "listDeadLetters", "Dead letters, newest first")
        .query("type", text(), "Only of this type.")
        .query("machine", text(), "Only of this machine.")
        .query("error", text(), "Only with an error of this type.")
        .query("tag", text(), "Only with this tag.")
        .query("fingerprint", text(), "Only those that failed alike.")
        .query(
            "olderThan",
            Shape::of::<wire::Duration>(),
            "Only those that died longer ago.",
        )
        .query(
            "newerThan",
            Shape::of::<wire::Duration>(),
            "Only those that died since.",
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
        "The case file: why it died, what was sent, who else failed alike, what would fix it",
    )
    .path("id", Shape::of::<ActionId>(), "The action's id.")
    .reads()
    .answers::<wire::CaseFile>(200, "The case file.")
    .refuses([command::Code::ActionUnknown])
    .refuses([Code::DeadLetterUnknown])
}

pub(crate) fn retry() -> Operation {
    one(
        "retryDeadLetter",
        "Try it again: as it is, with another configuration, changed by a patch, or on another version",
    )
    .body::<Retry>()
    .writes()
    .once()
    .refuses([
        command::Code::StatusConflict,
        command::Code::VersionUnknown,
        command::Code::EditInvalid,
    ])
}

pub(crate) fn archive() -> Operation {
    one("archiveDeadLetter", "Put it away")
        .body::<NoFields>()
        .writes()
        .once()
        .refuses([command::Code::StatusConflict])
}
