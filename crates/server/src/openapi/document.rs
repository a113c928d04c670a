//! From the route table to the document.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sprag_wire::Problem;

use super::Route;
use super::operation::{Operation, Parameter, ParameterPlace, RequestBody, Success};
use super::resources::{RESOURCES, Resource};
use super::shapes::{Shape, Shapes};
use crate::routes::table;

/// Built once: the table does not change while the server runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(build);
static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());

/// The document.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

/// The document as it is served.
pub(crate) fn document_text() -> &'static str {
    &TEXT
}

/// The name of the one security scheme.
const SCHEME: &str = "token";

fn build() -> Value {
    let (mut paths, mut shapes) = (Map::new(), Shapes::new());
    let problem = shapes.schema(&Shape::of::<Problem>());
    for Route { path, operations, .. } in table() {
        let operations = operations.into_iter();
        let operations: Map<String, Value> = operations
            .map(|(method, operation)| (method.to_owned(), describe(&operation, &mut shapes, &problem)))
            .collect();
        paths.insert(path.to_owned(), operations.into());
    }
    let tags = RESOURCES
        .iter()
        .map(|Resource { name, about, .. }| json!({ "name": name, "description": about }));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sprag",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sprag runs state machines that act on the world, and never lose a step.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": tags.collect::<Value>(),
        "paths": paths,
        "security": [{ SCHEME: [] }],
        "components": {
            "schemas": shapes.named(),
            "securitySchemes": {
                SCHEME: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token. `x-role` of an operation lists the roles that may use it; `admin` may use all.",
                },
            },
        },
    })
}

fn describe(operation: &Operation, shapes: &mut Shapes, problem: &Value) -> Value {
    let Operation {
        resource,
        id,
        summary,
        parameters,
        body,
        answers,
        refusals: _,
        is_alias: _,
        rule,
    } = operation;
    let mut responses: BTreeMap<String, Value> = problems(operation, problem);
    for answer in answers {
        responses.insert(answer.status.to_string(), success(answer, shapes));
    }
    let mut described = json!({ "operationId": id, "tags": [resource], "summary": summary });
    if !parameters.is_empty() {
        described["parameters"] = parameters.iter().map(|one| parameter(one, shapes)).collect();
    }
    if let Some(RequestBody { required, content }) = body {
        described["requestBody"] = json!({ "required": required, "content": contents(content, shapes) });
    }
    described["responses"] = json!(responses);
    described["x-role"] = json!(rule.words());
    if !rule.needs_token() {
        described["security"] = json!([]);
    }
    described
}

fn parameter(parameter: &Parameter, shapes: &mut Shapes) -> Value {
    let Parameter {
        place,
        name,
        shape,
        about,
    } = parameter;
    json!({
        "name": name,
        "in": place.word(),
        "required": *place == ParameterPlace::Path,
        "description": about,
        "schema": shapes.schema(shape),
    })
}

fn contents(content: &[(&str, Shape)], shapes: &mut Shapes) -> Value {
    let content = content.iter();
    content
        .map(|(media, shape)| ((*media).to_owned(), json!({ "schema": shapes.schema(shape) })))
        .collect::<Map<_, _>>()
        .into()
}

fn success(answer: &Success, shapes: &mut Shapes) -> Value {
    let Success {
        status: _,
        about,
        content,
        headers,
    } = answer;
    let headers: Map<String, Value> = headers
        .iter()
        .map(|(name, about)| {
            let header = json!({ "description": about, "required": true, "schema": { "type": "string" } });
            ((*name).to_owned(), header)
        })
        .collect();
    json!({ "description": about, "headers": headers, "content": contents(content, shapes) })
}

/// One response a status: the codes say which problem it is.
fn problems(operation: &Operation, problem: &Value) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for refused in &operation.refusals {
        by_status.entry(refused.status).or_default().push(refused.code);
    }
    let refused = |(status, codes): (u16, Vec<&str>)| {
        let schema = json!({
            "allOf": [
                problem,
                { "properties": { "status": { "const": status }, "code": { "enum": codes } } },
            ],
        });
        let mut response = json!({
            "description": codes.join(", "),
            "content": { "application/problem+json": { "schema": schema } },
        });
        if matches!(status, 408 | 429 | 503) {
            let seconds = json!({ "type": "integer", "minimum": 0 });
            let about = "Seconds after which the same request may succeed.";
            response["headers"] =
                json!({ "Retry-After": { "description": about, "required": true, "schema": seconds } });
        }
        (status.to_string(), response)
    };
    by_status.into_iter().map(refused).collect()
}
