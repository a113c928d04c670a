//! Media types of bodies. A body without its type is refused: a web page can send a form or plain text anywhere, but
//! nothing else without asking first.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::problem::shown::shown;
use crate::problem::{Code, Problem};

/// What a body can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// JSON.
    Json,
    /// YAML, for definitions.
    Yaml,
}

impl Media {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// The type of the body, if it is one of `accepted`.
pub(super) fn of(headers: &HeaderMap, accepted: &[Media]) -> Result<Media, Problem> {
    if let Some(coding) = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .find(|coding| is_coded(coding))
    {
        let coding = shown(coding.to_str().unwrap_or_default());
        let detail = format!("the body has the `Content-Encoding` `{coding}`, which the server does not accept");
        return Err(unsupported(&format!("{detail}; send it without an encoding"), accepted));
    }
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        (None, _) => return Err(unsupported("the body has no `Content-Type`", accepted)),
        (Some(_), Some(_)) => return Err(unsupported("the body has more than one `Content-Type`", accepted)),
    };
    let found = accepted.iter().find(|media| is(value, media.name()));
    found
        .copied()
        .ok_or_else(|| unsupported(&format!("`{}` is not accepted here", shown(value)), accepted))
}

/// Whether a `Content-Encoding` changes the body.
fn is_coded(coding: &HeaderValue) -> bool {
    !coding.as_bytes().eq_ignore_ascii_case(b"identity")
}

/// Whether a `Content-Type` is `name`, in UTF-8 if it says anything about it.
fn is(value: &str, name: &str) -> bool {
    let mut parts = value.split(';').map(str::trim);
    let is_named = parts.next().is_some_and(|first| first.eq_ignore_ascii_case(name));
    is_named && parts.all(|parameter| parameter.is_empty() || is_utf8(parameter))
}

fn is_utf8(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        name.eq_ignore_ascii_case("charset") && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

fn unsupported(detail: &str, accepted: &[Media]) -> Problem {
    let names: Vec<String> = accepted.iter().map(|media| format!("`{}`", media.name())).collect();
    Problem::new(
        Code::MediaTypeUnsupported,
        format!("{detail}; send {}", names.join(" or ")),
    )
}
