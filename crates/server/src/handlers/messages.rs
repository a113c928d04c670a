//! Messages to executions, addressed by id or by machine and key.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sprag_core::access::ScopeKind;
use sprag_core::ids::ExecutionId;
use sprag_engine::requests::{SendMessage, Sent, Target};
use sprag_wire::{self as wire, AddressedMessage, Message};

use crate::access::scope::Asker;
use crate::handlers::reply::{Answer, ok};
use crate::request::body::{Body, Empty, Fields, FromFields};
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{Nothing, Query};

impl FromFields for Message {
    type Shape = Self;

    const KNOWN: &'static [&'static str] = &["type", "payload", "id"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self {
            kind: fields.required_text("type"),
            payload: fields.value("payload").unwrap_or_default(),
            id: fields.text("id"),
        }
    }
}

impl FromFields for AddressedMessage {
    type Shape = Self;

    const KNOWN: &'static [&'static str] = &["machine", "key", "type", "payload", "id"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self {
            machine: fields.required_text("machine"),
            key: fields.required_text("key"),
            message: Message::read(fields),
        }
    }
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
