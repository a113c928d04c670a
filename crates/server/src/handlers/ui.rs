//! The web interface: the files of `ui/dist`, which are part of a release. Debug builds read them when they are asked for.
//!
//! Every path of a page is answered with the same `index.html`, which browsers never keep. The other files have the hash of
//! their content in their name, so browsers keep them. They are compressed when they are built, not when they are sent.

use std::borrow::Cow;

use axum::extract::{MatchedPath, Request};
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

use crate::access::rule::Rule;
use crate::handlers::pages::RESOURCE;
use crate::handlers::reply::Answer;
use crate::openapi::{Operation, Route, Success, at, text};
use crate::problem::shown::shown;
use crate::problem::{Code, Problem};
use crate::request::path::Path;
use crate::request::query::{Nothing, Query};

/// Only files of this server run, style, and are asked; no other page frames it, and no form leaves it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The name of a file changes with its content.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// How files are compressed, best first: the name of the coding, and what it adds to the name of the file.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];
/// Paths of programs. A browser that opens one of them gets the problem, not a page.
const PROGRAMS: [&str; 2] = ["/v1/", "/assets/"];

/// What a server without the interface shows.
const MISSING: &str = "<!doctype html>
<html lang=\"en\">
<head><meta charset=\"utf-8\"><title>Sprag</title><link rel=\"stylesheet\" href=\"/style.css\"></head>
<body>
<h1>Sprag runs</h1>
<p>This binary was built without the web interface. Build both with <code>make run</code> or <code>make install</code>.</p>
<p>The API works: <a href=\"/api\">read what it offers</a>.</p>
</body>
</html>
";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    let index_operation = Operation::lenient(RESOURCE, "showInterface", "Open the web interface").gives(Success::of(
        200,
        "The page. Other paths that are not of the API answer with it too, if the request accepts `text/html`.",
        "text/html; charset=utf-8",
        text(),
    ));
    vec![
        at("/").get(Rule::Public, index).is(index_operation),
        at("/assets/{file}").get(Rule::Public, asset).is(asset_operation()),
    ]
}

fn asset_operation() -> Operation {
    Operation::new(RESOURCE, "showInterfaceFile", "Return a file of the web interface")
        .path("file", text(), "The name of the file, with the hash of its content.")
        .gives(
            Success::of(
                200,
                "The file. It never changes.",
                "text/javascript; charset=utf-8",
                text(),
            )
            .or("text/css; charset=utf-8", text())
            .or("image/svg+xml", text()),
        )
        .refuses([Code::RouteUnknown])
}

/// The files, as they were built.
#[derive(Embed)]
#[folder = "../../ui/dist"]
struct Built;

/// `GET /`, and every path that is a page of the interface.
pub(crate) async fn index() -> Response {
    page::<Built>()
}

/// `GET /assets/{file}`
pub(crate) async fn asset(headers: HeaderMap, Path(name): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    file::<Built>(&name, &headers).ok_or_else(|| {
        let detail = format!(
            "the web interface of this version has no file `{}`; reload the page",
            shown(&name)
        );
        Problem::new(Code::RouteUnknown, detail)
    })
}

/// Whether a browser opens a page: no route of the API, and an answer for people is wanted.
pub(crate) fn is_page(request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_unknown = request.extensions().get::<MatchedPath>().is_none();
    let path = request.uri().path();
    let is_programs = PROGRAMS.iter().any(|prefix| path.starts_with(prefix));
    let accepts = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    is_read && is_unknown && !is_programs && accepts.is_some_and(|accept| accept.contains("text/html"))
}

/// The page that loads everything else.
fn page<F: Embed>() -> Response {
    let body = match F::get("index.html") {
        Some(index) => index.data,
        None => Cow::Borrowed(MISSING.as_bytes()),
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, body).into_response()
}

/// A file by its name, in the best coding that the browser takes.
fn file<F: Embed>(name: &str, headers: &HeaderMap) -> Option<Response> {
    let media = media(name)?;
    let path = format!("assets/{name}");
    let coded = CODINGS.iter().filter(|(coding, _)| takes(headers, coding));
    let coded = coded.filter_map(|(coding, ending)| Some((*coding, F::get(&format!("{path}{ending}"))?)));
    let (coding, found) = match coded.map(|(coding, found)| (Some(coding), found)).next() {
        Some(found) => found,
        None => (None, F::get(&path)?),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (header::CACHE_CONTROL, KEPT),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    let mut response = (headers, found.data).into_response();
    if let Some(coding) = coding {
        let coding = HeaderValue::from_static(coding);
        response.headers_mut().insert(header::CONTENT_ENCODING, coding);
    }
    Some(response)
}

/// The type of a file. Others are not served.
fn media(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// Whether a browser takes a coding. A weight of zero means that it does not.
fn takes(headers: &HeaderMap, coding: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let accepted = accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let mut accepted = accepted.map(|one| one.split_once(';').unwrap_or((one, "")));
    accepted.any(|(name, weight)| {
        let weight = weight.trim().trim_start_matches("q=").parse();
        name.trim().eq_ignore_ascii_case(coding) && weight != Ok(0.0_f32)
    })
}

#[cfg(test)]
mod tests;
