//! The reason that a JSON body gives, in its member `reason`. The header `Sprag-Reason` counts more.

use std::sync::Arc;

use axum::http::Extensions;
use serde::Deserialize;
use sprag_core::access::Caller;

/// The longest reason that is kept, in characters.
const CHARACTERS_MAX: usize = 1_000;
/// The largest body that is looked into.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// What such a body has.
const MEMBER: &[u8] = b"\"reason\"";

/// Adds the reason that a body gives to the caller.
pub(crate) fn note(extensions: &mut Extensions, body: &[u8]) {
    if body.len() > BODY_BYTES_MAX || !body.windows(MEMBER.len()).any(|window| window == MEMBER) {
        return;
    }
    let Some(caller) = extensions.get_mut::<Arc<Caller>>() else {
        return;
    };
    if let Some(reason) = of_body(body) {
        Arc::make_mut(caller).reason = Some(reason);
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
    use axum::http::Request;

    use super::*;
    use crate::access::caller;

    fn noted(header: Option<&str>, body: &str) -> Option<String> {
        let (mut parts, ()) = Request::new(()).into_parts();
        if let Some(header) = header {
            parts.headers.insert(caller::REASON, header.parse().unwrap());
        }
        parts.extensions.insert(Arc::new(Caller::local()));
        note(&mut parts.extensions, body.as_bytes());
        caller::of(&parts).unwrap().reason.clone()
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
        let long = format!(r#"{{"reason": "{}"}}"#, "x".repeat(5_000));
        assert_eq!(noted(None, &long).unwrap().len(), CHARACTERS_MAX);
    }
}
