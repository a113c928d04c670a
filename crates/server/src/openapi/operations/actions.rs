//! Actions.

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::read::health::Window;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape, text, words};
use crate::request::body::NoFields;

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
        .answers::<wire::Action>(200, "The action.")
        .refuses([requests::Code::ActionUnknown])
}

/// What a person does to an action.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .body::<NoFields>()
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}

pub(crate) fn list() -> Operation {
    operation("listActions", "List actions, newest first")
        .query("executionId", Shape::of::<ExecutionId>(), "Only of this execution.")
        .query("machine", text(), "Only of this machine.")
        .query("actionId", text(), "Only actions with this `actionId`.")
        .query("type", text(), "Only of this type.")
        .query("status", Shape::of::<wire::ActionStatus>(), "Only with this status.")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Action>>(200, "The actions.")
        .reads()
}

pub(crate) fn queue() -> Operation {
    operation("showQueue", "Show waiting and running actions, by queue and by type")
        .continued()
        .answers::<wire::Queue>(200, "The queue.")
        .reads()
}

pub(crate) fn health() -> Operation {
    let windows = words(&Window::ALL.map(Window::word));
    operation(
        "showActionHealth",
        "Report success rates, failures and recommendations of actions",
    )
    .query("actionId", text(), "Only actions with this `actionId`.")
    .query("window", windows, "The window of the report. Default: `1h`.")
    .answers::<wire::HealthReport>(200, "The report.")
    .reads()
}

pub(crate) fn show() -> Operation {
    one("showAction", "Show an action with its attempts")
}

pub(crate) fn retry_now() -> Operation {
    change("retryActionNow", "Start a scheduled or retrying action now")
}

pub(crate) fn cancel() -> Operation {
    change("cancelAction", "Cancel an action")
}
