//! Messages to executions, addressed by id or by machine and key.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sprag_core::access::ScopeKind;
use sprag_core::ids::ExecutionId;
use sprag_engine::requests::{self, SendMessage, Sent, Target};
use sprag_wire::{self as wire, AddressedMessage, Message};

use super::executions;
use crate::access::rule::OPERATOR;
use crate::access::scope::{self, Asker};
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, at};
use crate::request::body::Body;
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{Nothing, Query};

/// The group.
pub(crate) const RESOURCE: &str = "messages";

/// What can become of a message.
pub(super) fn sends(operation: Operation) -> Operation {
    operation
        .answers::<wire::Sent>(200, "The result of the message.")
        .answers::<wire::Sent>(202, "The message waits in the inbox of a paused or failed execution.")
        .writes()
        .refuses([
            requests::Code::ExecutionUnknown,
            requests::Code::ExecutionClosed,
            requests::Code::ReservedType,
            requests::Code::NameInvalid,
            requests::Code::MessageTooLarge,
            requests::Code::InboxFull,
            requests::Code::DecisionFailed,
            requests::Code::VariablesTooLarge,
        ])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/messages")
            .post(OPERATOR, send_by_key)
            .is(send_by_key_operation())
            .about(scope::Target::Handler),
        at("/v1/executions/{id}/messages")
            .post(OPERATOR, send)
            .is(send_operation())
            .about(scope::Target::Execution),
    ]
}

fn send_by_key_operation() -> Operation {
    let summary = "Send a message to the open execution of a machine with a key";
    let operation = Operation::new(RESOURCE, "sendMessageByKey", summary);
    sends(operation.body::<wire::AddressedMessage>()).once()
}

fn send_operation() -> Operation {
    let operation = Operation::new(RESOURCE, "sendMessage", "Send a message to an execution");
    sends(executions::one(operation).body::<wire::Message>()).once()
}

fn to(to: Target, message: Message) -> SendMessage {
    let Message { kind, payload, id } = message;
    SendMessage { to, kind, payload, id }
}

/// `POST /v1/executions/{id}/messages`
pub(crate) async fn send(
    Id(id): Id<ExecutionId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(message): Body<Message>,
) -> Answer {
    Ok(answered(once.ask(to(Target::Id(id), message)).await, sent))
}

/// `POST /v1/messages`
pub(crate) async fn send_by_key(
    caller: Asker,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(addressed): Body<AddressedMessage>,
) -> Answer {
    let AddressedMessage { machine, key, message } = addressed;
    caller.covers(ScopeKind::Machine, &machine)?;
    Ok(answered(
        once.ask(to(Target::Key { machine, key }, message)).await,
        sent,
    ))
}

/// A message that waits in the inbox is accepted; nothing can be said yet about what it does.
pub(super) fn sent(sent: Sent) -> Response {
    let view = wire::Sent::from(sent);
    if view.queued {
        (StatusCode::ACCEPTED, axum::Json(view)).into_response()
    } else {
        ok(&view)
    }
}
