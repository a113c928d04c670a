//! The JSON Schema of a document, for editors: written from the tables that the reader checks documents with.

use serde_json::{Map, Value, json};

use super::names::Names;
use super::shape::{Key, Shape, Table};

/// The JSON Schema (2020-12) of a document that `table` describes.
pub fn schema(title: &str, table: &Table) -> Value {
    let mut definitions = Map::new();
    define(table, &mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$ref": reference(table),
        "$defs": definitions,
    })
}

fn reference(table: &Table) -> String {
    format!("#/$defs/{}", table.name)
}

/// Adds a table, and those that its keys lead to.
fn define(table: &Table, definitions: &mut Map<String, Value>) {
    if definitions.contains_key(table.name) {
        return;
    }
    // The name is taken before the keys are walked: tables refer to each other and to themselves.
    definitions.insert(table.name.to_owned(), Value::Null);
    let mut properties = Map::new();
    for key in table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_))) {
        for name in std::iter::once(key.name).chain(key.alias) {
            properties.insert(name.to_owned(), property(key, definitions));
        }
    }
    let required: Vec<&str> = table
        .keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut definition = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        definition["required"] = json!(required);
    }
    definitions.insert(table.name.to_owned(), definition);
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = of_shape(key.shape, definitions);
    if let Value::Object(members) = &mut schema {
        members.insert("description".to_owned(), key.about.into());
    }
    schema
}

fn of_shape(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Nothing => json!({ "type": "null" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Filled => json!({ "type": "string", "minLength": 1 }),
        Shape::Sized { least, most: u64::MAX } => json!({ "type": "string", "minLength": least }),
        Shape::Sized { least, most } => json!({ "type": "string", "minLength": least, "maxLength": most }),
        Shape::Name(names) => named(*names),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole { least, most: u64::MAX } => json!({ "type": "integer", "minimum": least }),
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Number { least } => json!({ "type": "number", "minimum": least }),
        Shape::Duration { least } => json!({ "type": ["integer", "string"], "minimum": least }),
        Shape::Bytes => json!({ "type": ["integer", "string"], "minimum": 0 }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Rule => json!({ "type": ["object", "boolean"] }),
        Shape::Map(table) => {
            define(table, definitions);
            json!({ "$ref": reference(table) })
        }
        Shape::Members(names, inner) => {
            let inner = of_shape(inner, definitions);
            json!({ "type": "object", "propertyNames": named(*names), "additionalProperties": inner })
        }
        Shape::Open => json!({ "type": "object" }),
        Shape::List(inner) => json!({ "type": "array", "items": of_shape(inner, definitions) }),
        Shape::Either(shapes) => {
            let shapes: Vec<Value> = shapes.iter().map(|shape| of_shape(shape, definitions)).collect();
            json!({ "anyOf": shapes })
        }
        Shape::Refused(_) => json!(false),
    }
}

fn named(names: Names) -> Value {
    match names.pattern() {
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None => json!({ "type": "string" }),
    }
}
