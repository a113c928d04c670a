//! The published JSON Schema and the loader accept the same files.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::accepted::EVERYTHING;
use super::properties::{pointers, value};
use crate::document::source::{Document, Format, Limits, Spot, parse};
use crate::document::{Reader, Shape, Table};
use crate::machine::load::keys::MACHINE;
use crate::machine::load::{LoadOptions, load_document};
use crate::machine::schema;

fn everything() -> Document {
    parse(EVERYTHING, Format::Yaml, &Limits::DEFINITION).unwrap()
}

/// As much of a JSON Schema validator as the schema needs; names and durations are left to the loader.
fn is_valid(schema: &Value, part: &Value, value: &Value) -> bool {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        return is_valid(schema, &schema.pointer(&reference[1..]).unwrap().clone(), value);
    }
    let members = || value.as_object().into_iter().flatten();
    let list = |name: &str| {
        part.get(name)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    let properties = part.get("properties").and_then(Value::as_object);
    let of_member = |name: &str| {
        properties
            .and_then(|known| known.get(name))
            .or(part.get("additionalProperties"))
    };
    let types: Vec<&str> = match part.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    (types.is_empty() || types.iter().any(|name| is_of_type(value, name)))
        && (list("anyOf").is_empty() || list("anyOf").iter().any(|branch| is_valid(schema, branch, value)))
        && (list("enum").is_empty() || list("enum").contains(value))
        && list("required")
            .iter()
            .all(|name| value.get(name.as_str().unwrap()).is_some())
        && members().all(|(name, member)| match of_member(name) {
            Some(Value::Bool(accepts)) => *accepts,
            Some(part) => is_valid(schema, part, member),
            None => true,
        })
        && part.get("items").is_none_or(|item| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .all(|v| is_valid(schema, item, v))
        })
        && bound(part, "minimum", value).is_none_or(|(number, least)| number >= least)
        && bound(part, "maximum", value).is_none_or(|(number, most)| number <= most)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

fn bound(part: &Value, name: &str, value: &Value) -> Option<(f64, f64)> {
    Some((value.as_f64()?, part.get(name)?.as_f64()?))
}

/// Whether the loader finds the shape of the file right, names and durations written as text aside.
fn is_accepted(document: &Document) -> bool {
    let is_text = |pointer: &str| document.value.pointer(pointer).is_some_and(Value::is_string);
    let mut reader = Reader::default();
    reader.check(&document.root(), &Shape::Map(&MACHINE));
    let shape = reader.findings.finish();
    let mut wrong = shape.iter().filter(|finding| match finding.code {
        "bad-name" | "given-twice" => false,
        "bad-duration" => !is_text(&finding.pointer) && !finding.pointer.contains("/after/"),
        _ => true,
    });
    let loaded = load_document(document, &LoadOptions::default());
    let is_named_guard = loaded
        .findings
        .iter()
        .any(|f| f.code == "named-guard" && is_text(&f.pointer));
    wrong.next().is_none() && !is_named_guard
}

proptest! {
    #[test]
    fn the_schema_accepts_what_the_loader_accepts(position in 0_usize..10_000, replacement in value()) {
        let mut definition = everything().value;
        let pointers = pointers(&definition, "");
        *definition.pointer_mut(&pointers[position % pointers.len()]).unwrap() = replacement;
        let document = parse(&definition.to_string(), Format::Json, &Limits::DEFINITION).unwrap();
        let schema = schema();
        prop_assert_eq!(is_valid(&schema, &schema, &definition), is_accepted(&document), "{}", definition);
    }
}

#[test]
fn the_schema_says_what_it_is() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$ref"], "#/$defs/machine");
    assert_eq!(schema["$defs"]["action"]["properties"]["priority"]["maximum"], 100);
    assert!(
        schema["$defs"]["state"]["properties"].get("invoke").is_none(),
        "what is refused is not offered"
    );
    assert!(
        schema["$defs"]["retryPolicy"]["properties"]
            .get("backoffDelay")
            .is_some(),
        "aliases are"
    );
    assert!(is_valid(&schema, &schema, &everything().value));
}

#[test]
fn the_example_of_everything_has_every_key() {
    let document = everything();
    let mut seen = BTreeSet::new();
    collect(&document.root(), &Shape::Map(&MACHINE), &mut seen);
    let mut tables = Vec::new();
    collect_tables(&MACHINE, &mut tables);
    for table in tables {
        for key in table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_))) {
            assert!(
                seen.contains(&(table.name, key.name)),
                "`{}` of {} is in no test",
                key.name,
                table.called
            );
        }
    }
}

fn collect(spot: &Spot<'_>, shape: &Shape, seen: &mut BTreeSet<(&'static str, &'static str)>) {
    match shape {
        Shape::Map(table) => {
            for (name, member) in spot.members() {
                let key = table.key(name).unwrap();
                seen.insert((table.name, key.name));
                collect(&member, key.shape, seen);
            }
        }
        Shape::Members(_, inner) => spot.members().for_each(|(_, member)| collect(&member, inner, seen)),
        Shape::List(inner) => spot.items().for_each(|item| collect(&item, inner, seen)),
        Shape::Either(shapes) => {
            shapes
                .iter()
                .filter(|shape| shape.fits(spot.value))
                .for_each(|shape| collect(spot, shape, seen));
        }
        _ => {}
    }
}

fn collect_tables(table: &'static Table, tables: &mut Vec<&'static Table>) {
    fn inside(shape: &Shape, tables: &mut Vec<&'static Table>) {
        match shape {
            Shape::Map(table) => collect_tables(table, tables),
            Shape::Members(_, inner) | Shape::List(inner) => inside(inner, tables),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| inside(shape, tables)),
            _ => {}
        }
    }
    if !tables.iter().any(|known| known.name == table.name) {
        tables.push(table);
        table.keys.iter().for_each(|key| inside(key.shape, tables));
    }
}
