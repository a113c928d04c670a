//! Revisions as entity tags: `ETag` with what is shown, `If-Match` with what is asked.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use sprag_engine::control::Matches;

use crate::app::App;
use crate::problem::Problem;

/// What a request's `If-Match` says.
pub(crate) struct IfMatch(pub(crate) Matches);

impl FromRequestParts<App> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        Ok(Self(read(&parts.headers)))
    }
}

/// A tag that no server of this kind gave matches nothing, as the standard wants it.
fn read(headers: &HeaderMap) -> Matches {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Matches::Any;
    };
    match value.to_str().map(str::trim) {
        Ok("*") => Matches::Any,
        Ok(tag) => {
            let revision = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let revision = revision.and_then(|revision| revision.parse().ok());
            revision.map_or(Matches::Nothing, Matches::Revision)
        }
        Err(_) => Matches::Nothing,
    }
}

/// An answer with the revision of what it shows.
pub(crate) fn tagged(revision: u64, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{revision}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Matches {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, HeaderValue::try_from(value).unwrap());
        read(&headers)
    }

    #[test]
    fn a_tag_is_a_revision_between_quotes_and_anything_else_matches_nothing() {
        assert_eq!(of("\"17\""), Matches::Revision(17));
        assert_eq!(of("*"), Matches::Any);
        for wrong in ["17", "\"x\"", "W/\"17\"", "\"1\", \"2\""] {
            assert_eq!(of(wrong), Matches::Nothing, "{wrong}");
        }
        assert_eq!(read(&HeaderMap::new()), Matches::Any);
    }
}
