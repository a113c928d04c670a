//! Why something is asked: the header `Sprag-Reason`, or the member `reason` of a JSON body.

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap, HeaderName};
use serde::Deserialize;
use sprag_core::access::Caller;

/// The header.
const HEADER: HeaderName = HeaderName::from_static("sprag-reason");
/// The longest reason that is kept, in characters.
const CHARACTERS_MAX: usize = 1_000;
/// The largest body that is looked into.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// What such a body has.
const MEMBER: &[u8] = b"\"reason\"";

/// The reason that the headers give.
pub(crate) fn of_headers(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(HEADER)?;
    kept(std::str::from_utf8(value.as_bytes()).ok()?)
}

/// Adds the reason that a body gives, unless the headers gave one.
pub(crate) fn note(extensions: &mut Extensions, body: &[u8]) {
    if body.len() > BODY_BYTES_MAX || !body.windows(MEMBER.len()).any(|window| window == MEMBER) {
        return;
    }
    let Some(caller) = extensions.get_mut::<Arc<Caller>>() else {
        return;
    };
    if caller.reason.is_none() {
        Arc::make_mut(caller).reason = of_body(body);
    }
}

fn of_body(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Reasoned {
        reason: String,
    }
    // A list would be read as the members in their order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let Reasoned { reason } = serde_json::from_slice(body).ok()?;
    kept(&reason)
}

fn kept(reason: &str) -> Option<String> {
    let reason = reason.trim();
    (!reason.is_empty()).then(|| reason.chars().take(CHARACTERS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(header: Option<&str>, body: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(HEADER, header.parse().unwrap());
        }
        let mut extensions = Extensions::new();
        extensions.insert(Arc::new(Caller {
            reason: of_headers(&headers),
            ..Caller::local()
        }));
        note(&mut extensions, body.as_bytes());
        extensions.get::<Arc<Caller>>().unwrap().reason.clone()
    }

    #[test]
    fn the_header_counts_more_than_the_body() {
        let body = r#"{"scope": "all", "reason": "from the body"}"#;
        assert_eq!(noted(Some("from the header"), body).as_deref(), Some("from the header"));
        assert_eq!(noted(None, body).as_deref(), Some("from the body"));
        assert_eq!(noted(Some("  "), body).as_deref(), Some("from the body"));
    }

    #[test]
    fn only_a_text_at_the_top_is_a_reason() {
        for body in [
            "",
            "{}",
            r#"{"reason": 1}"#,
            r#"{"reason": "  "}"#,
            r#"{"a": {"reason": "b"}}"#,
            r#"["reason"]"#,
            r#"{"reason": "unfinished"#,
        ] {
            assert_eq!(noted(None, body), None, "{body}");
        }
        let long = "x".repeat(5_000);
        let kept = noted(Some(&long), "").unwrap();
        assert_eq!(kept.len(), CHARACTERS_MAX);
    }
}
