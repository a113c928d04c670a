//! A request with its body, let in: the body first, then a permit of its class, then room for its answer.
//!
//! In this order, because a client may take half a minute to send a body. Until it is whole, the request holds one of the
//! seats of [`crate::listen::arrivals`] and no permit that others need.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::note_reason;
use crate::app::App;
use crate::listen::admission::Class;
use crate::listen::arrivals::{Room, Whole};
use crate::nodes::forward::forward;
use crate::nodes::peers;
use crate::problem::Problem;
use crate::request::body::collect;

/// Runs a request once its body is here, if there is room for it and for its answer.
pub(crate) async fn admit(app: &App, request: Request, next: Next) -> Response {
    let class = Class::of(&request);
    let ran = async {
        let (request, body_room) = with_body(app, request).await?;
        let permit = app.admission.enter(class)?;
        let answer_room = app.flight.ahead(class).await?;
        // A request that waits has read its body long before it is answered: the bytes themselves hold the room then.
        let body_room = body_room.filter(|_| !matches!(class, Class::Wait | Class::Poll));
        let response = forward(app, request, next).await;
        drop((permit, body_room));
        app.flight.held(class, answer_room, response).await
    };
    ran.await.unwrap_or_else(|problem: Problem| problem.into_response())
}

/// The request with its whole body, and what that counts for. Routes that read no body get none: what a client sends along
/// is left unread, and costs it the connection.
async fn with_body(app: &App, request: Request) -> Result<(Request, Option<Arc<Room>>), Problem> {
    let (mut parts, body) = request.into_parts();
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let is_internal = peers::is_internal(&parts.uri);
    let is_known = parts.extensions.get::<MatchedPath>().is_some() || is_internal;
    if body.is_end_stream() {
        return Ok((Request::from_parts(parts, Body::empty()), None));
    }
    if is_read || !is_known {
        // Another node would wait for what this header promises.
        parts.headers.remove(header::CONTENT_LENGTH);
        return Ok((Request::from_parts(parts, Body::empty()), None));
    }
    let most = if is_internal {
        peers::BODY_MAX
    } else {
        app.settings.body_bytes
    };
    let Whole { bytes, room } = collect(&app.arrivals, body, &parts.headers, most).await?;
    note_reason(&mut parts.extensions, &bytes);
    Ok((Request::from_parts(parts, Body::from(bytes)), room))
}
