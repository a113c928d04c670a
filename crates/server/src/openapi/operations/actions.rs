//! Actions.

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::command;
use sprag_engine::health::Window;
use sprag_wire as wire;

use super::{Operation, Shape, text, words};
use crate::body::NoFields;

/// The group.
pub(crate) const RESOURCE: &str = "actions";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one action.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::Action>(200, "The action as it is now.")
        .refuses([command::Code::ActionUnknown])
}

/// What a person does to an action.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .body::<NoFields>()
        .writes()
        .once()
        .refuses([command::Code::StatusConflict])
}

pub(crate) fn list() -> Operation {
    operation("listActions", "Actions, newest first")
        .query("executionId", Shape::of::<ExecutionId>(), "Only of this execution.")
        .query("machine", text(), "Only of this machine.")
        .query("actionId", text(), "Only what machines call so.")
        .query("type", text(), "Only of this type.")
        .query("status", Shape::of::<wire::ActionStatus>(), "Only with this status.")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Action>>(200, "The actions.")
        .reads()
}

pub(crate) fn queue() -> Operation {
    operation(
        "showQueue",
        "How much waits, since when, what runs and what holds it back, by line and by type",
    )
    .continued()
    .answers::<wire::Queue>(200, "The queue.")
    .reads()
}

pub(crate) fn health() -> Operation {
    let windows = words(&Window::ALL.map(Window::word));
    operation(
        "showActionHealth",
        "How actions have been doing, what failed, and what could be changed",
    )
    .query("actionId", text(), "Only of what machines call so.")
    .query(
        "window",
        windows,
        "Of what was triggered since then; `1h` unless it says otherwise.",
    )
    .answers::<wire::HealthReport>(200, "The report.")
    .reads()
}

pub(crate) fn show() -> Operation {
    one("showAction", "An action with its attempts and what holds it")
}

pub(crate) fn retry_now() -> Operation {
    change("retryActionNow", "Let a retrying or scheduled action be due now")
}

pub(crate) fn cancel() -> Operation {
    change("cancelAction", "End an action")
}
