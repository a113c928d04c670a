//! What is sent, and what of a definition's words may not be.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The methods a definition may name.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Headers that frame the message or route the connection: the client alone sets them.
const RESERVED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The most headers one request may have.
const HEADERS_MAX: usize = 64;
/// The most bytes of one header's value.
const HEADER_BYTES_MAX: usize = 8 * 1024;

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Every header but those the client sets.
    pub headers: HeaderMap,
    /// The body, as it is sent.
    pub body: Option<Vec<u8>>,
    /// From the look-up of the name to the last byte of the reply.
    pub timeout: Duration,
}

/// Why a request cannot be made of a definition's words. No text shows a value that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Not one of [`METHODS`].
    #[error("the method is not one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]
    Method,
    /// Not a URL.
    #[error("the text is not a URL")]
    Url,
    /// A URL of another kind.
    #[error("the scheme `{0}` is neither `http` nor `https`")]
    Scheme(String),
    /// Characters that a header's name cannot have.
    #[error("`{0}` is not the name of a header")]
    HeaderName(String),
    /// A line break in a header's value would start another header.
    #[error("the value of header `{0}` holds a line break")]
    LineBreak(String),
    /// Other characters that a header's value cannot have.
    #[error("the value of header `{0}` holds a control character")]
    HeaderValue(String),
    /// A header that is not the definition's to set.
    #[error("header `{0}` is set by the client alone")]
    Reserved(String),
    /// A header given twice, in different letter case.
    #[error("header `{0}` appears twice")]
    Twice(String),
    /// Larger than any server accepts.
    #[error("header `{0}` is longer than {HEADER_BYTES_MAX} bytes")]
    TooLong(String),
    /// More headers than any server accepts.
    #[error("there are more than {HEADERS_MAX} headers")]
    TooMany,
}

/// Reads a method; letter case does not matter.
pub fn method(text: &str) -> Result<Method, RequestError> {
    let upper = text.to_ascii_uppercase();
    METHODS
        .iter()
        .find(|known| **known == upper)
        .and_then(|known| known.parse().ok())
        .ok_or(RequestError::Method)
}

/// Reads a URL of scheme `http` or `https`.
pub fn url(text: &str) -> Result<Url, RequestError> {
    let url = Url::parse(text).map_err(|_| RequestError::Url)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(RequestError::Scheme(other.to_owned())),
    }
}

/// Reads headers, each by itself, so that every problem can be shown.
pub fn headers<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<HeaderMap, Vec<RequestError>> {
    let mut headers = HeaderMap::new();
    let mut errors = Vec::new();
    for (name, value) in pairs {
        if headers.len() == HEADERS_MAX {
            errors.push(RequestError::TooMany);
            break;
        }
        match header(name, value) {
            Ok((name, _)) if headers.contains_key(&name) => errors.push(RequestError::Twice(name.to_string())),
            Ok((name, value)) => {
                headers.insert(name, value);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(headers) } else { Err(errors) }
}

/// Reads one header.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), RequestError> {
    let shown = || sprag_core::document::source::shown(name);
    let parsed: HeaderName = name.parse().map_err(|_| RequestError::HeaderName(shown()))?;
    if RESERVED.contains(&parsed.as_str()) {
        return Err(RequestError::Reserved(shown()));
    }
    if value.len() > HEADER_BYTES_MAX {
        return Err(RequestError::TooLong(shown()));
    }
    if value.contains(['\r', '\n']) {
        return Err(RequestError::LineBreak(shown()));
    }
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| RequestError::HeaderValue(shown()))?;
    Ok((parsed, value))
}
