//! Around every request: a line in the log, headers that every answer has, and no panic that leaves without one.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use crate::access::guard::guard;
use crate::app::App;
use crate::problem::{Code, Problem};

/// Runs a request and says what became of it. The log has the route, not the path: a path holds what people sent.
pub(crate) async fn observe(app: &App, request: Request, next: Next) -> Response {
    let began = app.engine.micros();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let ran = AssertUnwindSafe(guard(app, request, next)).catch_unwind().await;
    let mut response = ran.unwrap_or_else(|panic| panicked(panic.as_ref(), route));
    harden(response.headers_mut());
    let micros = app.engine.micros().saturating_sub(began);
    app.metrics.answered(&method, route, response.status(), micros);
    let status = response.status().as_u16();
    let ms = micros / 1_000;
    if response.status().is_server_error() {
        tracing::warn!(%method, route, status, ms, "request failed");
    } else {
        tracing::debug!(%method, route, status, ms, "request answered");
    }
    response
}

/// What a panic said belongs into the log, not to the client.
fn panicked(panic: &(dyn Any + Send), route: &str) -> Response {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(route, panic = text.unwrap_or("without a text"), "handler panicked");
    Problem::new(
        Code::InternalError,
        "the server failed on this request; read its log for the cause",
    )
    .into_response()
}

/// Answers are data: no browser guesses another type, and no cache keeps them, unless the handler says so.
fn harden(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
