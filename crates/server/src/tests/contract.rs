//! The contract: every answer is one that the OpenAPI document has for the route, the method and the status.
//!
//! The tests' client looks at each answer it gets, so a server that says something else than its document fails the
//! test that made it say so.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::client::Reply;
use crate::openapi::document;

/// Codes of problems that no route causes: the path or the method is unknown, or the guard refused before.
const OUTSIDE: [&str; 9] = [
    "route-unknown",
    "method-not-allowed",
    "host-refused",
    "origin-refused",
    "internal-error",
    "supervision-off",
    "token-missing",
    "token-invalid",
    "rate-limited",
];

/// Compiled schemas by where they are.
static SCHEMAS: LazyLock<Mutex<BTreeMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Panics where an answer is not as the document says.
#[track_caller]
pub(super) fn check(request: &[u8], reply: &Reply) {
    if reply.header("x-content-type-options").is_none() {
        // What is no HTTP never reaches the API.
        assert!(matches!(reply.status, 400 | 431) && reply.body.is_empty(), "{reply:?}");
        return;
    }
    let (method, path) = asked(request);
    let documented = template(&path).and_then(|template| {
        let operation = &document()["paths"][template.as_str()][method.as_str()];
        operation.is_object().then_some((template, operation))
    });
    match documented {
        Some((template, operation)) => answer(&format!("{method} {template}"), operation, reply),
        None if method == "head" => assert!(reply.body.is_empty(), "{reply:?}"),
        None => outside(reply),
    }
}

/// The method in lower case and the path without a query, from a request's first line.
fn asked(request: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(request);
    let mut words = text.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let target = target
        .strip_prefix("http://")
        .map_or(target, |rest| rest.find('/').map_or("/", |slash| &rest[slash..]));
    let path = target.split('?').next().unwrap_or_default();
    (method.to_ascii_lowercase(), path.to_owned())
}

/// The route that a path belongs to: words count more than parameters.
fn template(path: &str) -> Option<String> {
    let given: Vec<&str> = path.split('/').collect();
    let parameters = |template: &&String| template.matches('{').count();
    let templates = document()["paths"].as_object().unwrap().keys();
    templates
        .filter(|template| {
            let wanted: Vec<&str> = template.split('/').collect();
            wanted.len() == given.len()
                && wanted
                    .iter()
                    .zip(&given)
                    .all(|(wanted, given)| wanted == given || (wanted.starts_with('{') && !given.is_empty()))
        })
        .min_by_key(parameters)
        .cloned()
}

#[track_caller]
fn outside(reply: &Reply) {
    if reply
        .header("content-type")
        .is_some_and(|media| media.starts_with("text/html"))
    {
        // A page of the web interface has no route of its own: the answer is that of `/`.
        return answer("a page", &document()["paths"]["/"]["get"], reply);
    }
    let problem = reply.json();
    let code = problem["code"].as_str().unwrap_or_default();
    assert!(OUTSIDE.contains(&code), "not in the document: {reply:?}");
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    body("outside", &schema, &problem);
}

#[track_caller]
fn answer(what: &str, operation: &Value, reply: &Reply) {
    let what = format!("{what} {}", reply.status);
    let response = &operation["responses"][reply.status.to_string()];
    assert!(response.is_object(), "{what} is not in the document: {reply:?}");
    let media = reply.header("content-type").unwrap_or_default();
    let content = &response["content"][media];
    let is_bare = response["content"].as_object().is_some_and(serde_json::Map::is_empty);
    if is_bare {
        assert!(
            media.is_empty() && reply.body.is_empty(),
            "{what} has a body: {reply:?}"
        );
    } else {
        assert!(content.is_object(), "{what} cannot be `{media}`: {reply:?}");
    }
    for name in response["headers"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        assert!(reply.header(name).is_some(), "{what} lacks `{name}`: {reply:?}");
    }
    if media.ends_with("json") {
        body(&format!("{what} {media}"), &content["schema"], &reply.json());
    }
}

#[track_caller]
fn body(what: &str, schema: &Value, body: &Value) {
    let validator = validator(what, schema);
    let errors: Vec<String> = validator
        .iter_errors(body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what} is not as documented: {errors:#?}\n{body:#}");
}

fn validator(what: &str, schema: &Value) -> Arc<Validator> {
    let mut schemas = SCHEMAS.lock().unwrap();
    let compiled = schemas.entry(what.to_owned()).or_insert_with(|| {
        // References lead into the document, so its shapes come along.
        let whole = json!({ "allOf": [schema], "components": document()["components"] });
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        Arc::new(options.build(&whole).unwrap())
    });
    Arc::clone(compiled)
}

/// An answer of the API as text, with a JSON body.
fn forged(status: u16, media: &str, body: &Value) -> Reply {
    Reply {
        status,
        head: format!("HTTP/1.1 {status}\r\nX-Content-Type-Options: nosniff\r\nContent-Type: {media}"),
        body: body.to_string(),
    }
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\n\r\n";

#[test]
fn an_answer_as_documented_passes() {
    check(HEALTH, &forged(200, "application/json", &json!({ "status": "ok" })));
}

#[test]
#[should_panic(expected = "is not in the document")]
fn a_status_that_is_not_documented_is_noticed() {
    check(HEALTH, &forged(204, "application/json", &json!({ "status": "ok" })));
}

#[test]
#[should_panic(expected = "cannot be `text/plain`")]
fn another_media_type_is_noticed() {
    check(HEALTH, &forged(200, "text/plain", &json!({ "status": "ok" })));
}

#[test]
#[should_panic(expected = "is not as documented")]
fn a_member_that_is_not_documented_is_noticed() {
    check(
        HEALTH,
        &forged(200, "application/json", &json!({ "status": "ok", "mood": "good" })),
    );
}

#[test]
#[should_panic(expected = "is not as documented")]
fn a_code_that_this_route_does_not_have_is_noticed() {
    let problem = json!({
        "type": "/errors/key-in-use", "title": "Key in use", "status": 500, "detail": "", "code": "key-in-use",
        "retryable": false, "errors": [],
    });
    check(HEALTH, &forged(500, "application/problem+json", &problem));
}

#[test]
#[should_panic(expected = "lacks `Location`")]
fn a_header_that_is_missing_is_noticed() {
    let request = b"POST /v1/machines HTTP/1.1\r\n\r\n";
    check(
        request,
        &forged(201, "application/json", &json!({ "id": "a", "version": 1 })),
    );
}
