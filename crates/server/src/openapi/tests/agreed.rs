//! The document against the one that clients were written for.
//!
//! `agreed.json` changes when the API is meant to change, and then on purpose. Both documents are reduced to what they
//! allow: references are followed, descriptions dropped, and different spellings of the same thing made alike.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::openapi::document;

/// What clients were written for.
const AGREED: &str = include_str!("agreed.json");
/// Where this document says more than the agreed one, and what: the answers themselves are the same.
const IMPROVED: &[(&str, &str, &str)] = &[
    ("", "/properties/node/pattern", "ids of nodes have their pattern"),
    (
        "",
        "/cluster/properties/shards/items/properties/owner/pattern",
        "ids of nodes have their pattern",
    ),
    (
        "",
        "/cluster/properties/nodes/items/properties/id/pattern",
        "ids of nodes have their pattern",
    ),
    (
        "",
        "/cluster/properties/nodes/items/properties/joinedAt/format",
        "an instant",
    ),
    (
        "",
        "/cluster/properties/nodes/items/properties/leaseUntil/format",
        "an instant",
    ),
    (
        "/v1/jobs",
        "/waiting/either/0/properties/for/type",
        "what jobs wait for is one of the known words",
    ),
    (
        "/v1/jobs",
        "/waiting/either/0/properties/for/enum",
        "what jobs wait for is one of the known words",
    ),
    (
        "/v1/dead-letters/retry/",
        "/waiting/either/0/properties/for/type",
        "what jobs wait for is one of the known words",
    ),
    (
        "/v1/dead-letters/retry/",
        "/waiting/either/0/properties/for/enum",
        "what jobs wait for is one of the known words",
    ),
    (
        "/v1/jobs/{id}/items/",
        "/properties/result/type",
        "what became of an item is one of three words",
    ),
    (
        "/v1/jobs/{id}/items/",
        "/properties/result/enum",
        "what became of an item is one of three words",
    ),
];
/// Words of a schema that are kept as they are.
const KEPT: [&str; 9] = [
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "default",
];

#[test]
fn every_request_and_answer_is_as_clients_expect_it() {
    let agreed: Value = serde_json::from_str(AGREED).unwrap();
    let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
    flatten("", &operations(&agreed), &mut expected);
    flatten("", &operations(document()), &mut found);
    let places = expected
        .keys()
        .chain(found.keys().filter(|place| !expected.contains_key(*place)));
    let different: Vec<String> = places
        .filter(|place| expected.get(*place) != found.get(*place))
        .filter(|place| {
            let mut improved = IMPROVED.iter();
            !improved.any(|(operation, end, _)| place.contains(operation) && place.ends_with(end))
        })
        .map(|place| format!("{place}: {:?} -> {:?}", expected.get(place), found.get(place)))
        .collect();
    assert!(
        different.is_empty(),
        "{} differences:\n{}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn every_name_of_a_shape_is_still_there() {
    let agreed: Value = serde_json::from_str(AGREED).unwrap();
    let names = |document: &Value| -> Vec<String> {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        schemas.keys().cloned().collect()
    };
    let found = names(document());
    let gone: Vec<String> = names(&agreed)
        .into_iter()
        .filter(|name| !found.contains(name))
        .collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// Every operation by its method and path.
fn operations(document: &Value) -> Value {
    let mut all = Map::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            all.insert(format!("{method} {path}"), reduced(document, operation));
        }
    }
    all.into()
}

fn reduced(document: &Value, operation: &Value) -> Value {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let parameters: Map<String, Value> = parameters
        .map(|one| {
            let name = format!("{} {}", one["in"].as_str().unwrap(), one["name"].as_str().unwrap());
            let schema = plain(document, &one["schema"]);
            (name, json!({ "required": one["required"], "schema": schema }))
        })
        .collect();
    let body = &operation["requestBody"];
    let responses = operation["responses"].as_object().unwrap().iter();
    let responses: Map<String, Value> = responses
        .map(|(status, response)| {
            let headers: Vec<&String> = response["headers"]
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .collect();
            let content = contents(document, &response["content"]);
            (status.clone(), json!({ "headers": headers, "content": content }))
        })
        .collect();
    json!({
        "id": operation["operationId"],
        "parameters": parameters,
        "body": { "required": body["required"], "content": contents(document, &body["content"]) },
        "responses": responses,
    })
}

fn contents(document: &Value, content: &Value) -> Value {
    let content = content.as_object().into_iter().flatten();
    content
        .map(|(media, content)| (media.clone(), plain(document, &content["schema"])))
        .collect::<Map<_, _>>()
        .into()
}

/// A schema reduced to what it allows.
fn plain(document: &Value, schema: &Value) -> Value {
    let Some(members) = schema.as_object() else {
        return json!({});
    };
    let mut reduced = Map::new();
    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
        let target = document.pointer(target.trim_start_matches('#'));
        merge(
            &mut reduced,
            &plain(document, target.unwrap_or_else(|| panic!("{schema}"))),
        );
    }
    kinds(&mut reduced, members);
    for word in KEPT {
        reduced.extend(members.get(word).map(|value| (word.to_owned(), value.clone())));
    }
    reduced.extend(
        members
            .get("format")
            .map(|format| ("format".to_owned(), format.clone())),
    );
    objects(document, &mut reduced, members);
    for word in ["anyOf", "oneOf"] {
        either(document, &mut reduced, members.get(word));
    }
    for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        merge(&mut reduced, &plain(document, part));
    }
    if reduced.contains_key("enum") {
        reduced.remove("type");
    }
    reduced.into()
}

/// The type and the words that are allowed.
fn kinds(reduced: &mut Map<String, Value>, members: &Map<String, Value>) {
    let mut kinds: Vec<Value> = match members.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        Some(kind) => vec![kind.clone()],
        None => Vec::new(),
    };
    if kinds.len() > 1 && kinds.contains(&json!("null")) {
        kinds.retain(|kind| kind != "null");
        reduced.insert("nullable".to_owned(), true.into());
    }
    if let Some(kind) = kinds.first() {
        reduced.insert("type".to_owned(), kind.clone());
    }
    let mut words: Vec<Value> = match (members.get("enum"), members.get("const")) {
        (Some(Value::Array(words)), _) => words.clone(),
        (_, Some(word)) => vec![word.clone()],
        _ => return,
    };
    words.sort_by_key(Value::to_string);
    reduced.insert("enum".to_owned(), words.into());
}

/// What objects and lists hold.
fn objects(document: &Value, reduced: &mut Map<String, Value>, members: &Map<String, Value>) {
    let properties = members.get("properties").and_then(Value::as_object);
    if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
        let properties: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), plain(document, schema)))
            .collect();
        merge(reduced, &json!({ "properties": properties }));
    }
    if let Some(required) = members.get("required").and_then(Value::as_array) {
        let required: Map<String, Value> = required
            .iter()
            .map(|name| (name.as_str().unwrap().to_owned(), true.into()))
            .collect();
        merge(reduced, &json!({ "required": required }));
    }
    match members.get("additionalProperties") {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            reduced.insert("closed".to_owned(), true.into());
        }
        Some(schema) => {
            reduced.insert("others".to_owned(), plain(document, schema));
        }
    }
    if let Some(items) = members.get("items") {
        reduced.insert("items".to_owned(), plain(document, items));
    }
}

/// One of several: null among them makes the rest nullable, and words make one list.
fn either(document: &Value, reduced: &mut Map<String, Value>, variants: Option<&Value>) {
    let Some(variants) = variants.and_then(Value::as_array) else {
        return;
    };
    let mut variants: Vec<Value> = variants.iter().map(|variant| plain(document, variant)).collect();
    let null = json!({ "type": "null" });
    if variants.contains(&null) {
        variants.retain(|variant| *variant != null);
        reduced.insert("nullable".to_owned(), true.into());
    }
    let (words, mut variants): (Vec<Value>, Vec<Value>) =
        variants.into_iter().partition(|variant| variant.get("enum").is_some());
    if !words.is_empty() {
        let mut words: Vec<Value> = words
            .iter()
            .filter_map(|one| one["enum"].as_array())
            .flatten()
            .cloned()
            .collect();
        words.sort_by_key(Value::to_string);
        variants.push(json!({ "enum": words }));
    }
    if let [only] = variants.as_slice() {
        merge(reduced, only);
    } else {
        variants.sort_by_key(sorted);
        reduced.insert("either".to_owned(), variants.into());
    }
}

/// The text of a value, the same in any order of its members.
fn sorted(value: &Value) -> String {
    let mut flat = BTreeMap::new();
    flatten("", value, &mut flat);
    format!("{flat:?}")
}

/// Adds the members of another value, objects by their members.
fn merge(into: &mut Map<String, Value>, other: &Value) {
    for (name, value) in other.as_object().into_iter().flatten() {
        match (into.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(_)) => merge(old, value),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Every value that is no object by its place.
fn flatten(at: &str, value: &Value, flat: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                flatten(&format!("{at}/{name}"), value, flat);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (position, item) in items.iter().enumerate() {
                flatten(&format!("{at}/{position}"), item, flat);
            }
        }
        other => {
            flat.insert(at.to_owned(), other.to_string());
        }
    }
}

#[test]
fn different_spellings_of_the_same_schema_are_alike_and_other_schemas_are_not() {
    let document = json!({ "components": { "schemas": { "Word": { "enum": ["b", "a"] } } } });
    let alike = |one: Value, other: Value| plain(&document, &one) == plain(&document, &other);
    let word = json!({ "$ref": "#/components/schemas/Word", "description": "x" });
    assert!(alike(
        word.clone(),
        json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] })
    ));
    assert!(alike(
        json!({ "type": ["string", "null"] }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })
    ));
    assert!(!alike(word, json!({ "const": "a" })));
    assert!(!alike(
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] })
    ));
    let object = |required: &[&str]| json!({ "type": "object", "properties": { "a": {} }, "required": required });
    assert!(!alike(object(&["a"]), object(&[])));
    assert!(!alike(
        object(&[]),
        json!({ "type": "object", "properties": { "b": {} } })
    ));
}
