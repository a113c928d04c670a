//! Answers that several handlers give. Only a type that has a schema can be answered as JSON.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use sprag_wire::Page;

use crate::problem::Problem;

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// A list that is always shown whole.
pub(crate) fn whole<T: Serialize + JsonSchema>(data: Vec<T>) -> Response {
    ok(&Page::whole(data))
}

/// The answer to a request that went well.
pub(crate) fn ok<T: Serialize + JsonSchema>(body: &T) -> Response {
    axum::Json(body).into_response()
}

/// The answer to a request for work that continues at `location`.
pub(crate) fn accepted<T: Serialize + JsonSchema>(location: String, body: &T) -> Response {
    let headers: [(HeaderName, String); 1] = [(header::LOCATION, location)];
    (StatusCode::ACCEPTED, headers, axum::Json(body)).into_response()
}

/// The answer to a request that made something, which is now at `location`.
pub(crate) fn created<T: Serialize + JsonSchema>(location: String, body: &T) -> Response {
    let headers: [(HeaderName, String); 1] = [(header::LOCATION, location)];
    (StatusCode::CREATED, headers, axum::Json(body)).into_response()
}
