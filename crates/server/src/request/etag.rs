//! Revisions as entity tags: `ETag` with what is shown, `If-Match` and `If-None-Match` with what is asked.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sprag_engine::requests::Matches;

use crate::app::App;
use crate::problem::Problem;

/// What a change may find there: `If-Match` names the revision, `If-None-Match: *` says that there must be none.
pub(crate) struct IfMatch(pub(crate) Matches);

impl FromRequestParts<App> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        Ok(Self(read(&parts.headers)))
    }
}

/// A tag that no server of this kind gave matches nothing, as the standard wants it. So does what cannot be: then
/// nothing is changed.
fn read(headers: &HeaderMap) -> Matches {
    let none = text(headers, header::IF_NONE_MATCH);
    match (text(headers, header::IF_MATCH), none) {
        (None, None) => Matches::Any,
        (None, Some("*")) => Matches::Revision(0),
        (Some("*"), None) => Matches::Something,
        (Some(tag), None) => revision(tag).map_or(Matches::Nothing, Matches::Revision),
        (_, Some(_)) => Matches::Nothing,
    }
}

/// A header's value; one that is no text is none that we gave.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or_default().trim())
}

fn revision(tag: &str) -> Option<u64> {
    tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

/// What the client has seen already: the tags of `If-None-Match`.
pub(crate) struct IfNoneMatch(String);

impl FromRequestParts<App> for IfNoneMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let seen = text(&parts.headers, header::IF_NONE_MATCH);
        Ok(Self(seen.unwrap_or_default().to_owned()))
    }
}

impl IfNoneMatch {
    /// Whether it is this one. A weak tag will do: what is asked is only whether to send it again.
    pub(crate) fn has(&self, wanted: u64) -> bool {
        let mut tags = self.0.split(',').map(str::trim);
        tags.any(|tag| tag == "*" || revision(tag.strip_prefix("W/").unwrap_or(tag)) == Some(wanted))
    }
}

/// The answer to a client that has seen it already.
pub(crate) fn unchanged(revision: u64) -> Response {
    tagged(revision, StatusCode::NOT_MODIFIED)
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

    fn headers(values: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::try_from(text).unwrap();
        values.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    fn of(value: &str) -> Matches {
        read(&headers(&[(header::IF_MATCH, value)]))
    }

    #[test]
    fn a_tag_is_a_revision_between_quotes_and_anything_else_matches_nothing() {
        assert_eq!(of("\"17\""), Matches::Revision(17));
        assert_eq!(of("*"), Matches::Something);
        for wrong in ["17", "\"x\"", "W/\"17\"", "\"1\", \"2\""] {
            assert_eq!(of(wrong), Matches::Nothing, "{wrong}");
        }
        assert_eq!(read(&HeaderMap::new()), Matches::Any);
    }

    #[test]
    fn what_must_not_be_there_yet_is_asked_for_with_a_star_and_nothing_else() {
        let none = |value| read(&headers(&[(header::IF_NONE_MATCH, value)]));
        assert_eq!(none("*"), Matches::Revision(0));
        assert_eq!(none("\"1\""), Matches::Nothing);
        let both = headers(&[(header::IF_MATCH, "\"1\""), (header::IF_NONE_MATCH, "*")]);
        assert_eq!(read(&both), Matches::Nothing);
    }

    #[test]
    fn what_was_seen_is_any_of_the_tags_weak_or_not() {
        for (seen, is_seen) in [
            ("\"3\"", true),
            ("W/\"3\"", true),
            ("\"1\", \"3\"", true),
            ("*", true),
            ("", false),
            ("3", false),
            ("\"13\"", false),
        ] {
            assert_eq!(IfNoneMatch(seen.to_owned()).has(3), is_seen, "{seen}");
        }
    }
}
