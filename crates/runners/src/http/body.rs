//! Reading a reply's body within bounds.

use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::client::describe;

/// What is read of a body before the rest is left unread.
pub(super) const READ_BYTES_MAX: usize = 10 * 1024 * 1024;
/// What is kept of it.
pub(super) const KEPT_BYTES_MAX: usize = 64 * 1024;

/// How reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// The body was read to its end.
    Whole,
    /// There was more than is read.
    Endless,
    /// The connection broke in the middle, as described.
    Cut(String),
    /// The deadline came first.
    Late,
}

/// What was kept of a body.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) kept: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) end: BodyEnd,
}

/// Reads the body until its end, a bound, or the deadline.
pub(super) async fn read(response: &mut Response, deadline: Instant) -> Body {
    let mut body = Body::new();
    let mut read = 0;
    loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => {
                return Body {
                    end: BodyEnd::Late,
                    ..body
                };
            }
            Ok(Err(error)) => {
                return Body {
                    end: BodyEnd::Cut(describe(&error)),
                    ..body
                };
            }
            Ok(Ok(None)) => return body,
            Ok(Ok(Some(chunk))) => {
                read += chunk.len();
                body.keep(&chunk);
                if read > READ_BYTES_MAX {
                    return Body {
                        end: BodyEnd::Endless,
                        truncated: true,
                        ..body
                    };
                }
            }
        }
    }
}

impl Body {
    fn new() -> Self {
        Self {
            kept: Vec::new(),
            truncated: false,
            end: BodyEnd::Whole,
        }
    }

    /// A body that is there already, kept within the same bounds as one that is read.
    pub(super) fn of(bytes: &[u8], end: BodyEnd) -> Self {
        let mut body = Self { end, ..Self::new() };
        body.keep(bytes);
        body
    }

    fn keep(&mut self, chunk: &[u8]) {
        let room = KEPT_BYTES_MAX.saturating_sub(self.kept.len());
        self.truncated |= chunk.len() > room;
        self.kept.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
    }

    /// The body as a machine sees it: the value if it is JSON, otherwise its text, or null for none.
    pub(super) fn data(&self, content_type: Option<&str>) -> Value {
        if self.kept.is_empty() {
            return Value::Null;
        }
        if !self.truncated
            && content_type.is_none_or(is_json)
            && let Ok(value) = serde_json::from_slice(&self.kept)
        {
            return value;
        }
        Value::String(String::from_utf8_lossy(&self.kept).into_owned())
    }
}

/// `application/json`, or anything `+json`.
fn is_json(content_type: &str) -> bool {
    let media = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    media == "application/json" || media == "text/json" || media.ends_with("+json")
}
