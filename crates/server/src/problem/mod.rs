//! What a client gets when a request is refused: problem details (RFC 9457), always with a stable code.
//!
//! `type` is `/errors/<code>`, relative to the server, which answers it with the code's page. `retryable` says whether
//! the same request may succeed later as it is.

mod codes;
mod pages;
pub(crate) mod shown;
mod status;

#[cfg(test)]
mod tests;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sprag_core::document::{Finding, Severity};
use sprag_engine::requests::{self, Refusal};
use sprag_store::ShardId;
pub(crate) use sprag_wire::FieldError;

pub use codes::Code;
pub(crate) use pages::page;
pub(crate) use status::HttpStatus;

/// Errors and findings that one problem lists at most.
pub(crate) const LISTED_MAX: usize = 500;
/// The media type of a problem.
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Seconds after which a refused request may be tried again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct Problem {
    code: &'static str,
    status: u16,
    detail: String,
    errors: Vec<FieldError>,
    findings: Vec<Finding>,
    elsewhere: Option<ShardId>,
}

/// Goes with an answer that decided nothing, because another node decides on what it was about: on which shard, where
/// that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elsewhere(pub(crate) Option<ShardId>);

impl Problem {
    /// A refusal of the server's own.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self::named(code.text(), code.status(), detail.into())
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The same, from a request that no other node can answer.
    pub(crate) fn here(self) -> Self {
        Self {
            elsewhere: None,
            ..self
        }
    }

    /// The same, with everything that is wrong by its place.
    pub(crate) fn with_errors(self, mut errors: Vec<FieldError>) -> Self {
        errors.truncate(LISTED_MAX);
        Self { errors, ..self }
    }

    /// A definition that lint refuses. Warnings are among the findings, not among the errors.
    pub(crate) fn of_findings(mut findings: Vec<Finding>) -> Self {
        let code = requests::Code::DefinitionInvalid;
        let is_error = |finding: &&Finding| finding.severity == Severity::Error;
        let count = findings.iter().filter(is_error).count();
        let noun = if count == 1 { "error" } else { "errors" };
        let detail = format!("the definition has {count} {noun}");
        let errors = findings.iter().filter(is_error).map(|finding| FieldError {
            pointer: finding.pointer.clone(),
            detail: format!(
                "line {}, column {}: {}; {}",
                finding.line, finding.column, finding.detail, finding.remedy
            ),
        });
        let errors = errors.take(LISTED_MAX).collect();
        findings.truncate(LISTED_MAX);
        Self {
            errors,
            findings,
            ..Self::named(code.text(), code.status(), detail)
        }
    }

    /// Whether it has this code.
    pub(crate) fn is(&self, code: Code) -> bool {
        self.code == code.text()
    }

    /// What is wrong, without the code.
    pub(crate) fn into_detail(self) -> String {
        self.detail
    }

    fn named(code: &'static str, status: u16, detail: String) -> Self {
        Self {
            code,
            status,
            detail,
            errors: Vec::new(),
            findings: Vec::new(),
            elsewhere: None,
        }
    }

    /// Whether the same request may succeed later.
    fn is_retryable(&self) -> bool {
        matches!(self.status, 408 | 429 | 503)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let Refusal {
            code,
            detail,
            errors,
            elsewhere,
            unknown_machine: _,
        } = refusal;
        let errors = errors
            .into_iter()
            .map(|(pointer, detail)| FieldError { pointer, detail })
            .collect();
        Self {
            elsewhere,
            ..Self::named(code.text(), code.status(), detail).with_errors(errors)
        }
    }
}

/// A handler refused the caller, with this code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Denied(pub(crate) &'static str);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let retryable = self.is_retryable();
        let Self {
            code,
            status,
            detail,
            errors,
            findings,
            elsewhere,
        } = self;
        let wire = sprag_wire::Problem {
            kind: format!("/errors/{code}"),
            title: title(code),
            status,
            detail,
            code: code.to_owned(),
            retryable,
            errors,
            findings: findings.into_iter().map(Into::into).collect(),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(wire)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, MEDIA_TYPE);
        if retryable {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        if code == requests::Code::ScopeMissing.text() {
            response.extensions_mut().insert(Denied(code));
        }
        if elsewhere.is_some() || code == requests::Code::ShardMoved.text() {
            response.extensions_mut().insert(Elsewhere(elsewhere));
        }
        response
    }
}

/// The code as the beginning of a sentence: `key-in-use` is `Key in use`.
fn title(code: &str) -> String {
    let mut characters = code.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first
        .into_iter()
        .chain(characters)
        .map(|character| if character == '-' { ' ' } else { character })
        .collect()
}
