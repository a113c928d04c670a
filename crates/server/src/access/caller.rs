//! Who sends a request, from where and why.
//!
//! The gate puts the caller among the extensions of each request. The header `Sprag-Reason` gives the reason; a body may
//! give it instead.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use sprag_core::access::Caller;
use sprag_core::integrity::audit::REASON_CHARACTERS_MAX;
use sprag_core::text::is_storable;
use sprag_engine::Asker;

use crate::problem::{Code, Problem};

/// The header that says why.
pub(crate) const REASON: HeaderName = HeaderName::from_static("sprag-reason");

/// The caller of a request, with the reason that the request gives.
pub(crate) fn of(parts: &Parts) -> Result<Arc<Caller>, Problem> {
    let caller = parts.extensions.get::<Arc<Caller>>();
    let caller = caller.map_or_else(|| Arc::new(Caller::local()), Arc::clone);
    Ok(match reason(&parts.headers)? {
        None => caller,
        Some(reason) => Arc::new(Caller {
            reason: Some(reason),
            ..Caller::clone(&caller)
        }),
    })
}

fn reason(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(REASON).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return if headers.contains_key(REASON) {
            Err(invalid("there is more than one `Sprag-Reason`"))
        } else {
            Ok(None)
        };
    };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| invalid("`Sprag-Reason` is not UTF-8"))?;
    if text.chars().count() > REASON_CHARACTERS_MAX || !is_storable(text) {
        return Err(invalid(&format!(
            "`Sprag-Reason` has more than {REASON_CHARACTERS_MAX} characters"
        )));
    }
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn invalid(detail: &str) -> Problem {
    Problem::new(Code::ReasonInvalid, detail)
}

/// Who asks, for requests that have no idempotency key.
pub(crate) struct Who(pub(crate) Asker);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = of(parts)?;
        Ok(Self(Asker { caller, key: None }))
    }
}
