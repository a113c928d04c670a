//! The document against the table it is made of.

use std::collections::BTreeSet;

use serde_json::Value;
use sprag_core::text::NAME_BYTES_MAX;
use sprag_engine::jobs::{CANARY_MAX, RATE_MAX};
use sprag_engine::leases::{LEASE_SECONDS_DEFAULT, LEASE_SECONDS_MAX, LEASED_MAX, NAMES_MAX};
use sprag_engine::queue::control::REASON_CHARACTERS_MAX;

use super::operation::ParameterPlace;
use super::*;
use crate::handlers::runners::ERROR_TYPE_BYTES_MAX;
use crate::problem::page;
use crate::routes::table;

#[test]
fn every_method_of_every_route_is_documented() {
    let mut ids = BTreeSet::new();
    for Route { path, operations, .. } in table() {
        assert!(!operations.is_empty(), "{path} has no methods");
        for (method, operation) in operations {
            let found = &document()["paths"][path][method];
            assert_eq!(found["operationId"], operation.id, "{method} {path}");
            assert!(
                !operation.summary.is_empty() && !operation.summary.ends_with('.'),
                "{method} {path}"
            );
            assert!(ids.insert(operation.id), "`{}` is there twice", operation.id);
            assert!(
                operation
                    .answers
                    .iter()
                    .any(|answer| (200..300).contains(&answer.status)),
                "{method} {path} never succeeds"
            );
            let is_known = RESOURCES.iter().any(|resource| resource.name == operation.resource);
            assert!(is_known, "{method} {path} belongs to no resource");
        }
    }
}

#[test]
fn parameters_of_paths_are_those_of_the_route() {
    for Route { path, operations, .. } in table() {
        let named: Vec<&str> = path
            .split('/')
            .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        for (method, operation) in operations {
            let in_path = operation
                .parameters
                .iter()
                .filter(|one| one.place == ParameterPlace::Path);
            let documented: Vec<&str> = in_path.map(|one| one.name).collect();
            assert_eq!(documented, named, "{method} {path}");
        }
    }
}

#[test]
fn every_code_is_a_known_one_with_a_page() {
    for Route { path, operations, .. } in table() {
        for (method, operation) in operations {
            for refused in &operation.refusals {
                let page = page(refused.code).unwrap_or_else(|| panic!("{}: {method} {path}", refused.code));
                assert!(
                    page.contains(&format!("Status {}.", refused.status)),
                    "{}",
                    refused.code
                );
            }
        }
    }
}

#[test]
fn every_reference_has_its_target_and_every_shape_is_used() {
    let mut targets = BTreeSet::new();
    references(document(), &mut targets);
    for target in &targets {
        let pointer = target
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("{target} leads outside"));
        assert!(document().pointer(pointer).is_some(), "{target} is nowhere");
    }
    for name in document()["components"]["schemas"].as_object().unwrap().keys() {
        assert!(
            targets.contains(&format!("#/components/schemas/{name}")),
            "nothing uses {name}"
        );
    }
}

fn references(value: &Value, targets: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value.as_str()) {
                    ("$ref", Some(target)) => {
                        targets.insert(target.to_owned());
                    }
                    _ => references(value, targets),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, targets)),
        _ => {}
    }
}

#[test]
fn every_shape_is_a_schema_of_json_schema_2020_12() {
    for (name, schema) in document()["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}");
    }
}

/// The document as clients and generators find it in the repository.
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/openapi.json");

#[test]
fn the_published_document_is_current() {
    let text = format!("{:#}\n", document());
    if std::env::var_os("SPRAG_PUBLISH_OPENAPI").is_some() {
        std::fs::write(PUBLISHED, &text).unwrap();
    }
    let published = std::fs::read_to_string(PUBLISHED).unwrap_or_default();
    assert!(
        published == text,
        "clients/openapi.json is not the document of this server: run `make openapi` and commit it"
    );
}

#[test]
fn the_bounds_of_bodies_are_those_that_the_server_holds() {
    let bound = |shape: &str, member: &str, word: &str| {
        let schema = &document()["components"]["schemas"][shape]["properties"][member];
        let bound = schema[word].as_u64().or_else(|| schema["items"][word].as_u64());
        usize::try_from(bound.unwrap_or_else(|| panic!("{shape} {member} {word}"))).unwrap()
    };
    let seconds = |seconds: u64| usize::try_from(seconds).unwrap();
    let count = |count: u32| usize::try_from(count).unwrap();
    for (shape, member, word, held) in [
        ("RetryAllRequest", "rate", "maximum", count(RATE_MAX)),
        ("RetryAllRequest", "canary", "maximum", count(CANARY_MAX)),
        ("SwitchRequest", "reason", "maxLength", REASON_CHARACTERS_MAX),
        ("LeaseRequest", "max", "maximum", LEASED_MAX),
        ("LeaseRequest", "types", "maxItems", NAMES_MAX),
        ("LeaseRequest", "leaseSeconds", "maximum", seconds(LEASE_SECONDS_MAX)),
        (
            "LeaseRequest",
            "leaseSeconds",
            "default",
            seconds(LEASE_SECONDS_DEFAULT),
        ),
        ("LeaseRequest", "runner", "maxLength", NAME_BYTES_MAX),
        ("ReportedError", "type", "maxLength", ERROR_TYPE_BYTES_MAX),
        ("StartRequest", "key", "maxLength", NAME_BYTES_MAX),
        ("Message", "type", "maxLength", NAME_BYTES_MAX),
    ] {
        assert_eq!(bound(shape, member, word), held, "{shape} {member} {word}");
    }
}
