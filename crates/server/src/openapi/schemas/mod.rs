//! The shapes of bodies and answers, as JSON Schema 2020-12.
//!
//! Objects take no members besides those that are named, in requests as in answers: the server refuses what it does
//! not know, and what it says is all here.

mod actions;
mod dead_letters;
mod executions;
mod health;
mod jobs;
mod machines;
mod operate;
mod problem;
mod requests;
mod runners;
mod system;
mod workers;

use serde_json::{Map, Value, json};

/// Every shape by its name.
pub(super) fn schemas() -> Map<String, Value> {
    let all = [
        problem::schemas(),
        machines::schemas(),
        executions::schemas(),
        actions::schemas(),
        dead_letters::schemas(),
        health::schemas(),
        operate::schemas(),
        jobs::schemas(),
        system::schemas(),
        requests::schemas(),
        runners::schemas(),
        workers::schemas(),
    ];
    all.into_iter()
        .flatten()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// Shapes by their names.
type Named = Vec<(&'static str, Value)>;

/// A shape by its name.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A page of a list of shapes.
pub(crate) fn page_of(name: &str) -> Value {
    object(
        &json!({ "data": list_of(reference(name)), "nextCursor": nullable(text()) }),
        &json!({}),
    )
}

/// Text.
pub(crate) fn text() -> Value {
    json!({ "type": "string" })
}

/// A whole number.
pub(crate) fn whole(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

/// One of these words.
pub(crate) fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// An object with these members, of which the second ones may be missing.
fn object(required: &Value, optional: &Value) -> Value {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let names: Vec<String> = members(required).keys().cloned().collect();
    let mut properties = members(required);
    properties.extend(members(optional));
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !names.is_empty() {
        schema["required"] = json!(names);
    }
    schema
}

/// An object of anything.
fn anything_by_name() -> Value {
    json!({ "type": "object" })
}

fn list_of(item: Value) -> Value {
    let mut list = json!({ "type": "array" });
    list["items"] = item;
    list
}

fn nullable(schema: Value) -> Value {
    let mut either = json!({});
    either["anyOf"] = Value::Array(vec![schema, json!({ "type": "null" })]);
    either
}

fn truth() -> Value {
    json!({ "type": "boolean" })
}

/// An instant.
fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// An id of a kind.
pub(crate) fn id(prefix: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$") })
}
