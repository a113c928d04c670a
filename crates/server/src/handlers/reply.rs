//! Answers that several handlers give. Only a type that has a schema can be answered as JSON.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use sprag_wire::Page;

use crate::problem::{Code, Problem};

/// Room for what most answers have.
const BODY_BYTES: usize = 1_024;

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// A list that is always shown whole.
pub(crate) fn whole<T: Serialize + JsonSchema>(data: Vec<T>) -> Response {
    ok(&Page::whole(data))
}

/// The answer to a request that went well.
pub(crate) fn ok<T: Serialize + JsonSchema>(body: &T) -> Response {
    let mut bytes = Vec::with_capacity(BODY_BYTES);
    if let Err(error) = serde_json::to_writer(&mut bytes, body) {
        return Problem::new(Code::InternalError, format!("the answer cannot be written: {error}")).into_response();
    }
    let mut response = Response::new(Body::from(bytes));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// The answer to a request for work that continues at `location`.
pub(crate) fn accepted<T: Serialize + JsonSchema>(location: String, body: &T) -> Response {
    at(StatusCode::ACCEPTED, location, ok(body))
}

/// The answer to a request that made something, which is now at `location`.
pub(crate) fn created<T: Serialize + JsonSchema>(location: String, body: &T) -> Response {
    at(StatusCode::CREATED, location, ok(body))
}

/// The same with this status, about nothing at one place.
pub(crate) fn made<T: Serialize + JsonSchema>(status: StatusCode, body: &T) -> Response {
    let mut response = ok(body);
    *response.status_mut() = status;
    response
}

/// The same answer with another status, about what is at `location`.
fn at(status: StatusCode, location: String, mut response: Response) -> Response {
    match HeaderValue::try_from(location) {
        Ok(location) => {
            *response.status_mut() = status;
            response.headers_mut().insert(header::LOCATION, location);
            response
        }
        Err(error) => Problem::new(Code::InternalError, error.to_string()).into_response(),
    }
}
