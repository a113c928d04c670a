//! What describes the API: the page to read, and the document for programs.

use axum::http::header::{self, HOST};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::access::rule::{Rule, VIEWER};
use crate::openapi;
use crate::openapi::{Operation, Route, Success, at, page, text};
use crate::request::query::{Nothing, Query};

/// The group.
pub(crate) const RESOURCE: &str = "pages";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/api").get(Rule::Public, index).is(Operation::lenient(
            RESOURCE,
            "showReference",
            "Describe the API as a web page",
        )
        .gives(Success::of(200, "The page.", "text/html; charset=utf-8", text()))),
        at("/style.css").get(Rule::Public, style).is(Operation::lenient(
            RESOURCE,
            "showStyle",
            "Return the style sheet of the page",
        )
        .gives(Success::of(200, "A style sheet.", "text/css; charset=utf-8", text()))),
        at("/v1/openapi.json").get(VIEWER, openapi).is(openapi_operation()),
    ]
}

fn openapi_operation() -> Operation {
    let document = json!({ "type": "object", "required": ["openapi", "info", "paths", "components"] });
    Operation::new(RESOURCE, "showOpenApi", "Return the OpenAPI 3.1 document of this API").gives(Success::of(
        200,
        "The document.",
        "application/json",
        document,
    ))
}

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
    ([(header::CONTENT_TYPE, "application/json")], openapi::document_text()).into_response()
}
