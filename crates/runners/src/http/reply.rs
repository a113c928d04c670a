//! What came back.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value, json};

use super::body::Body;

/// Response headers that are kept; the others may carry cookies, tokens and the like.
const KEPT_HEADERS: [&str; 17] = [
    "content-language",
    "content-length",
    "content-type",
    "date",
    "deprecation",
    "etag",
    "idempotency-key",
    "idempotent-replayed",
    "last-modified",
    "location",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "retry-after",
    "webhook-id",
    "x-correlation-id",
    "x-request-id",
];

/// A reply: its status and headers arrived, its body as far as [`Reply::result`] says.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    pub(super) elapsed: Duration,
    /// How long the other side asks to be left alone, in milliseconds.
    pub(super) retry_after: Option<u64>,
}

impl Reply {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The value of a header, if it is there and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Milliseconds from the start of the request to the end of the reply.
    pub fn millis(&self) -> u64 {
        u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// The body: the value if it is JSON, otherwise its text, or null for none.
    pub fn data(&self) -> Value {
        let content_type = self
            .headers
            .get(CONTENT_TYPE)
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        self.body.data(content_type.as_deref())
    }

    /// Whether the body is an object or a list that was read and kept to its end.
    pub fn is_whole_json(&self) -> bool {
        !self.body.truncated && matches!(self.data(), Value::Object(_) | Value::Array(_))
    }

    /// `{statusCode, headers, data}`, and `truncated` if the body was longer than what is kept.
    pub fn result(&self) -> Value {
        let mut result = json!({"statusCode": self.status, "headers": self.kept_headers(), "data": self.data()});
        if self.body.truncated {
            result["truncated"] = Value::Bool(true);
        }
        result
    }

    fn kept_headers(&self) -> Map<String, Value> {
        let mut kept = Map::new();
        for name in KEPT_HEADERS {
            let values: Vec<_> = self
                .headers
                .get_all(name)
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect();
            if !values.is_empty() {
                kept.insert(name.to_owned(), Value::String(values.join(", ")));
            }
        }
        kept
    }
}
