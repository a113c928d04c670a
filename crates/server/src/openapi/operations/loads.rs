//! Load tests and their agents.

use sprag_core::ids::ActionId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Answer, Operation, Shape, text};
use crate::openapi::operation::ONCE;
use crate::problem::Code;
use crate::request::body::NoFields;

/// The group.
pub(crate) const RESOURCE: &str = "load tests";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one load test.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<ActionId>(), "The id of the load test.")
        .reads()
        .refuses([requests::Code::ActionUnknown])
}

pub(crate) fn start() -> Operation {
    operation("startLoad", "Start a load test on agents")
        .body::<wire::LoadRequest>()
        .answers::<wire::Load>(
            201,
            "The new load test. It starts once its action is due and no kill switch holds it.",
        )
        .located()
        .writes()
        .once()
        .audited()
        .refuses([Code::LoadPlanInvalid])
        .refuses([
            requests::Code::DecisionFailed,
            requests::Code::DefinitionInvalid,
            requests::Code::NameInvalid,
            requests::Code::VariablesTooLarge,
        ])
}

pub(crate) fn list() -> Operation {
    operation("listLoads", "List load tests, newest first")
        .query("status", Shape::of::<wire::ActionStatus>(), "Only with this status.")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Load>>(200, "The load tests.")
        .reads()
}

pub(crate) fn show() -> Operation {
    one("showLoad", "Show a load test with its live figures or its result").answers::<wire::Load>(200, "The load test.")
}

pub(crate) fn follow() -> Operation {
    one(
        "followLoad",
        "Stream the status and the live figures of a load test, as server-sent events",
    )
    .gives(Answer::of(
        200,
        "Events until the load test ends: `load` after each change of its status, `figures` each second while it runs, and \
         `ended`. Figures are cumulative, so a client that reconnects has missed nothing; there is no `Last-Event-ID`.",
        "text/event-stream",
        text(),
    ))
    .refuses([Code::TooManyStreams])
}

pub(crate) fn abort() -> Operation {
    one("abortLoad", "Abort a load test on all its agents")
        .body::<NoFields>()
        .answers::<wire::Load>(200, "The load test.")
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}

pub(crate) fn agents() -> Operation {
    operation("listAgents", "List the registered agents, by name")
        .answers::<wire::Page<wire::RegisteredAgent>>(200, "The agents.")
}

pub(crate) fn register() -> Operation {
    operation(
        "registerAgent",
        "Register an agent for 15 seconds, or renew its registration",
    )
    .body::<wire::AgentRequest>()
    .header(ONCE, text(), "Accepted and ignored: a repeat renews the registration.")
    .answers::<wire::RegisteredAgent>(200, "The registration.")
    .refuses([Code::AgentsFull])
}
