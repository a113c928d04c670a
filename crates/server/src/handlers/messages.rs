//! Messages to executions, addressed by id or by machine and key.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sprag_core::ids::ExecutionId;
use sprag_engine::command::{SendMessage, Sent, Target};
use sprag_wire as wire;

use crate::body::{Body, Empty, Fields, FromFields};
use crate::once::{Once, answered};
use crate::path::Id;
use crate::query::{Nothing, Query};
use crate::reply::{Answer, ok};
use crate::views::IntoWire as _;

/// A message as it is sent to an execution.
pub(crate) struct Message {
    kind: String,
    payload: Value,
    id: Option<String>,
}

impl FromFields for Message {
    type Shape = wire::Message;

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

impl Message {
    fn to(self, to: Target) -> SendMessage {
        let Self { kind, payload, id } = self;
        SendMessage { to, kind, payload, id }
    }
}

/// A message to the execution that holds a key.
pub(crate) struct Addressed {
    machine: String,
    key: String,
    message: Message,
}

impl FromFields for Addressed {
    type Shape = wire::AddressedMessage;

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

/// `POST /v1/executions/{id}/messages`
pub(crate) async fn send(
    Id(id): Id<ExecutionId>,
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(message): Body<Message>,
) -> Answer {
    Ok(answered(once.send(message.to(Target::Id(id))).await, sent))
}

/// `POST /v1/messages`
pub(crate) async fn send_by_key(
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(addressed): Body<Addressed>,
) -> Answer {
    let Addressed { machine, key, message } = addressed;
    Ok(answered(
        once.send(message.to(Target::Key { machine, key })).await,
        sent,
    ))
}

/// A message that waits in the inbox is accepted; nothing can be said yet about what it does.
pub(super) fn sent(sent: Sent) -> Response {
    let view = sent.into_wire();
    if view.queued {
        (StatusCode::ACCEPTED, axum::Json(view)).into_response()
    } else {
        ok(&view)
    }
}
