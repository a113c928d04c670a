//! Requests that act once: the header `Idempotency-Key`, and answers that say when they are repeated.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{self, Extensions, HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use sprag_core::access::{Caller, LOCAL};
use sprag_engine::requests::idempotency::Key;
use sprag_engine::requests::{Replied, Request};
use sprag_engine::{Asker, Handle};

use crate::access::caller;
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::request::body::{Body, FromFields, NoFields};
use crate::request::path::{Id, Named};
use crate::request::query::{Nothing, Query};

/// The header of a request that must act once.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Whose keys they are while there is no authentication. Stored keys have this name.
const PRINCIPAL: &str = "anonymous";

/// The engine for one request: in its caller's name, under its `Idempotency-Key` if it has one.
pub(crate) struct Once {
    pub(crate) engine: Handle,
    pub(crate) asker: Asker,
}

impl Once {
    /// Asks for something that acts once.
    pub(crate) async fn ask<R: Request>(&self, request: R) -> Replied<R::Answer> {
        self.engine.ask_once(request, &self.asker).await
    }
}

impl FromRequestParts<App> for Once {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Ok(Self {
            engine: app.engine.clone(),
            asker: Asker {
                caller: caller::of(parts)?,
                key: key(&parts.headers, principal(&parts.extensions))?,
            },
        })
    }
}

/// A request that changes what its path names: without parameters, and with what its body holds.
pub(crate) struct Change<I, B = NoFields> {
    pub(crate) id: I,
    pub(crate) once: Once,
    pub(crate) body: B,
}

impl<I: Named + Send, B: FromFields> FromRequest<App> for Change<I, B> {
    type Rejection = Problem;

    async fn from_request(request: http::Request<axum::body::Body>, app: &App) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let Id(id) = Id::from_request_parts(&mut parts, app).await?;
        Query::<Nothing>::from_request_parts(&mut parts, app).await?;
        let once = Once::from_request_parts(&mut parts, app).await?;
        let Body(body) = Body::from_request(http::Request::from_parts(parts, body), app).await?;
        Ok(Self { id, once, body })
    }
}

/// Whose keys a request carries: keys of two principals never meet.
fn principal(extensions: &Extensions) -> &str {
    let caller = extensions.get::<Arc<Caller>>().map(|caller| &*caller.principal);
    caller.filter(|principal| *principal != LOCAL).unwrap_or(PRINCIPAL)
}

/// The key that a request of `principal`'s carries, if it carries one.
pub(crate) fn key(headers: &HeaderMap, principal: &str) -> Result<Option<Key>, Problem> {
    let Some(text) = value(headers)? else {
        return Ok(None);
    };
    let key = Key::new(principal, text).map_err(|error| invalid(&error.to_string()))?;
    Ok(Some(key))
}

/// The same as text, for those who keep answers of their own.
pub(crate) fn text(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    key(headers, PRINCIPAL)?;
    Ok(value(headers)?.map(str::to_owned))
}

fn value(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(KEY).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Ok(Some(value.to_str().unwrap_or_default())),
        (Some(_), Some(_)) => Err(invalid("there is more than one `Idempotency-Key`; send one")),
    }
}

fn invalid(detail: &str) -> Problem {
    Problem::new(Code::IdempotencyKeyInvalid, detail)
}

/// The answer to a request that acts once: a replay is the same answer, and says that it is one.
pub(crate) fn answered<T>(asked: Replied<T>, show: impl FnOnce(T) -> Response) -> Response {
    let Replied { answer, replayed } = asked;
    let mut response = match answer {
        Ok(value) => show(value),
        Err(refusal) => Problem::from(refusal).into_response(),
    };
    if replayed {
        response
            .headers_mut()
            .insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
