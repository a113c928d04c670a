//! What authors can rely on, rule by rule.

mod evaluating;
mod freezing;
mod hostile;
mod properties;
mod secrets;
mod syntax;

use serde_json::{Value, json};

use super::{RenderError, RenderErrorKind, Template, TemplateLimits};

/// A scope with something of every kind.
fn scope() -> Value {
    json!({
        "variables": {
            "name": "Ada", "count": 3, "price": 9.5, "none": null, "yes": true, "empty": "", "key": "name",
            "items": [{"name": "pen", "price": 2}, {"name": "ink", "price": 5}],
            "tags": ["b", "a", "b"],
            "object": {"zulu": 1, "alpha": [1, "x"]},
            "a-b": "dashed", "a.b": "dotted", "it's": "quoted",
            "largest": u64::MAX,
            "smallest": i64::MIN,
            "braces": "{{ variables.name }}",
        },
        "message": {"payload": {"x": {"y": 1}}},
        "execution": {"id": "e1"},
    })
}

fn compile(template: &Value) -> Template {
    Template::compile(template).expect("the template compiles")
}

fn try_render(template: impl Into<Value>) -> Result<Value, RenderError> {
    compile(&template.into()).render(&scope(), TemplateLimits::default())
}

fn render(template: impl Into<Value>) -> Value {
    try_render(template).expect("the template renders")
}

fn kind(template: impl Into<Value>) -> RenderErrorKind {
    try_render(template).expect_err("the template does not render").kind
}

/// The path that the error names as missing.
fn missing(template: impl Into<Value>) -> String {
    match kind(template) {
        RenderErrorKind::Missing { path } => path,
        other => panic!("not a missing value: {other}"),
    }
}

/// The first thing that is wrong with a template.
fn refusal(template: impl Into<Value>) -> String {
    Template::compile(&template.into())
        .expect_err("the template does not compile")
        .remove(0)
        .detail
}
