//! Server-Sent Events on the wire, as the HTML standard has them.

use std::convert::Infallible;
use std::fmt::Write as _;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use serde::Serialize;

use crate::app::App;

/// What keeps a quiet connection open: a comment, which readers skip.
pub(super) const HEARTBEAT: &str = ": alive\n\n";
/// How a stream begins: readers that come back wait a second before they do.
pub(super) const OPENING: &str = "retry: 1000\n\n";

/// Adds an event. Only one with an id moves what a reader comes back with.
pub(super) fn event(text: &mut String, name: &str, id: Option<u64>, data: &impl Serialize) {
    // JSON on one line: data never needs a second one. Our own types always serialise.
    let Ok(data) = serde_json::to_string(data) else { return };
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "event: {name}\ndata: {data}\n\n");
}

/// A piece of a stream, which holds its room in memory until it is written. None ends the stream: there is no room, and
/// the follower reconnects.
pub(super) async fn piece(app: &App, text: String) -> Option<Bytes> {
    match app.flight.piece(text.len()).await {
        Ok(Some(room)) => Some(room.hold(text)),
        Ok(None) => Some(text.into()),
        Err(_) => {
            tracing::warn!("stream ended: no memory for its next piece");
            None
        }
    }
}

/// The answer that never ends by itself.
pub(super) fn response(stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Proxies that gather answers before they pass them on are asked not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_lines_and_an_empty_line() {
        let mut text = String::new();
        event(&mut text, "history", Some(7), &json!({"text": "two\nlines"}));
        event(&mut text, "lagged", None, &json!({}));
        assert_eq!(
            text,
            "id: 7\nevent: history\ndata: {\"text\":\"two\\nlines\"}\n\nevent: lagged\ndata: {}\n\n"
        );
    }
}
