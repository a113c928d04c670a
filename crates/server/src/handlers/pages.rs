//! What describes the API: the page to read, and the document for programs.

use axum::http::header::{self, HOST};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};

use crate::openapi;
use crate::openapi::page;
use crate::request::query::{Nothing, Query};

/// The page is text and its own style sheet. Nothing in it runs, and no page frames it.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /api`: the API as a page to read. Examples name the server as the request did.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let page = page::index(host.unwrap_or("localhost"));
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, page).into_response()
}

/// `GET /style.css`
pub(crate) async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE).into_response()
}

/// `GET /v1/openapi.json`
pub(crate) async fn openapi(Query(Nothing): Query<Nothing>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::text()).into_response()
}
