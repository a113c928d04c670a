//! The shapes of bodies and answers, derived from the types that carry them, as JSON Schema 2020-12.
//!
//! Objects take no members besides those that are named, in requests as in answers: the server refuses what it does
//! not know, and what it says is all here. Readers are not bound by that: they skip what they do not know.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Where the document keeps shapes.
const AT: &str = "/components/schemas";

/// A schema in an operation: written there, or that of a type.
pub(crate) enum Shape {
    /// Written.
    Plain(Value),
    /// What is read: a body.
    Read(fn(&mut SchemaGenerator) -> Schema),
    /// What is written: an answer, or a part of a path or a query.
    Written(fn(&mut SchemaGenerator) -> Schema),
}

impl Shape {
    /// What a request must carry to be read as `T`.
    pub(crate) fn read<T: JsonSchema>() -> Self {
        Self::Read(SchemaGenerator::subschema_for::<T>)
    }

    /// How `T` is written.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        Self::Written(SchemaGenerator::subschema_for::<T>)
    }
}

impl From<Value> for Shape {
    fn from(schema: Value) -> Self {
        Self::Plain(schema)
    }
}

/// Collects the shapes that operations name.
pub(crate) struct Shapes {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Shapes {
    /// None yet.
    pub(crate) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = AT.into();
                settings.meta_schema = None;
            })
        };
        Self {
            read: settings().for_deserialize().into_generator(),
            written: settings().for_serialize().into_generator(),
        }
    }

    /// The schema of a shape: a reference where it has a name.
    pub(crate) fn schema(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Plain(schema) => schema.clone(),
            Shape::Read(of) => documented(of(&mut self.read), Side::Read),
            Shape::Written(of) => documented(of(&mut self.written), Side::Written),
        }
    }

    /// Every shape that was named, by its name.
    pub(crate) fn named(mut self) -> Map<String, Value> {
        let documented_all = |definitions: Map<String, Value>, side| {
            let schemas = definitions.into_iter().filter_map(move |(name, schema)| {
                let schema = Schema::try_from(schema).ok()?;
                Some((name, documented(schema, side)))
            });
            schemas.collect::<Vec<_>>()
        };
        let mut all = Map::new();
        all.extend(documented_all(self.read.take_definitions(false), Side::Read));
        for (name, schema) in documented_all(self.written.take_definitions(false), Side::Written) {
            let other = all.insert(name.clone(), schema.clone());
            // A type that is both read and written has one shape, or it would need two names.
            debug_assert!(
                other.is_none_or(|other| other == schema),
                "two shapes are called `{name}`"
            );
        }
        all
    }
}

/// Whether a schema is about what is read or what is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Read,
    Written,
}

/// A schema as the document has it.
fn documented(mut schema: Schema, side: Side) -> Value {
    Rules(side).transform(&mut schema);
    schema.to_value()
}

/// The rules that hold for every schema of the document.
struct Rules(Side);

impl Transform for Rules {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(members) = schema.as_object_mut() {
            without_number_format(members);
            without_idle_default(members);
            exclude_each_other(members);
            distribute(members);
            if self.0 == Side::Written {
                missing_is_not_null(members);
            }
            close(members);
        }
        transform_subschemas(self, schema);
    }
}

/// Integer widths are an internal matter of this program: clients need the bounds.
fn without_number_format(members: &mut Map<String, Value>) {
    if members
        .get("format")
        .is_some_and(|format| format != "date-time" && format != "uri-reference")
    {
        members.remove("format");
    }
}

/// The document names a default only where it differs from leaving the member out.
fn without_idle_default(members: &mut Map<String, Value>) {
    let is_idle = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Bool(true) | Value::Object(_) => false,
    };
    if members.get("default").is_some_and(is_idle) {
        members.remove("default");
    }
}

/// Variants that differ in a constant member exclude each other.
fn exclude_each_other(members: &mut Map<String, Value>) {
    let has_word = |variant: &Value| {
        let properties = variant["properties"].as_object();
        properties.is_some_and(|properties| properties.values().any(|property| property.get("const").is_some()))
    };
    let variants = members.get("anyOf").and_then(Value::as_array);
    if variants.is_some_and(|variants| variants.iter().all(has_word))
        && let Some(variants) = members.remove("anyOf")
    {
        members.insert("oneOf".to_owned(), variants);
    }
}

/// Each variant of an object lists the members that all variants share.
fn distribute(members: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = members.get("properties").cloned() else {
        return;
    };
    let required = members.get("required").cloned();
    let Some(Value::Array(variants)) = members.get_mut("oneOf") else {
        return;
    };
    for variant in variants.iter_mut().filter_map(Value::as_object_mut) {
        let own = variant.insert("properties".to_owned(), properties.clone().into());
        if let (Some(Value::Object(all)), Some(Value::Object(own))) = (variant.get_mut("properties"), own) {
            all.extend(own);
        }
        let own = variant.insert("required".to_owned(), required.clone().unwrap_or_else(|| json!([])));
        if let (Some(Value::Array(all)), Some(Value::Array(own))) = (variant.get_mut("required"), own) {
            all.extend(own);
        }
    }
    for word in ["type", "properties", "required"] {
        members.remove(word);
    }
}

/// An answer leaves an optional member out: only a required one can be null.
fn missing_is_not_null(members: &mut Map<String, Value>) {
    let required = members
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let Some(Value::Object(properties)) = members.get_mut("properties") else {
        return;
    };
    let optional = properties
        .iter_mut()
        .filter(|(name, _)| !required.iter().any(|one| one == name.as_str()));
    for (_, schema) in optional {
        if let Some(schema) = schema.as_object_mut() {
            without_null(schema);
        }
    }
}

fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    let Some(Value::Array(variants)) = schema.get_mut("anyOf") else {
        return;
    };
    variants.retain(|variant| *variant != json!({ "type": "null" }));
    if let [only] = variants.as_slice()
        && let Value::Object(only) = only.clone()
    {
        schema.remove("anyOf");
        schema.extend(only);
    }
}

/// Objects hold the members that are named, and no others.
fn close(members: &mut Map<String, Value>) {
    if members.contains_key("properties") && !members.contains_key("additionalProperties") {
        members.insert("additionalProperties".to_owned(), false.into());
    }
    // This is the default of JSON Schema.
    if members.get("additionalProperties") == Some(&Value::Bool(true)) {
        members.remove("additionalProperties");
    }
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
