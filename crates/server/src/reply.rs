//! Answers that several handlers give.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::Problem;

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// A page of a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List<T> {
    /// The rows.
    pub(crate) data: Vec<T>,
    /// Where the next page begins, if there is one.
    pub(crate) next_cursor: Option<String>,
}

/// A list that is always shown whole.
pub(crate) fn whole<T: Serialize>(data: Vec<T>) -> Response {
    ok(&List {
        data,
        next_cursor: None,
    })
}

/// The answer to a request that went well.
pub(crate) fn ok(body: &impl Serialize) -> Response {
    axum::Json(body).into_response()
}

/// The answer to a request for work that goes on at `location`.
pub(crate) fn accepted(location: String, body: &impl Serialize) -> Response {
    let headers: [(HeaderName, String); 1] = [(header::LOCATION, location)];
    (StatusCode::ACCEPTED, headers, axum::Json(body)).into_response()
}

/// The answer to a request that made something, which is now at `location`.
pub(crate) fn created(location: String, body: &impl Serialize) -> Response {
    let headers: [(HeaderName, String); 1] = [(header::LOCATION, location)];
    (StatusCode::CREATED, headers, axum::Json(body)).into_response()
}
