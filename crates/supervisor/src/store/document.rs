//! Documents: JSON as compact text, and the difference between two of them, field by field.
//!
//! A change sets or removes a field at a JSON pointer. Objects are compared field by field. Everything else, including
//! lists, is replaced as a whole. Applying a change twice does no harm. Changes applied in order lead from any earlier
//! document to the newest one.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One field that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Where, as a JSON pointer; empty: the whole document.
    pub path: String,
    /// What is there now; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub value: Option<Value>,
}

/// A value of null is a value: only an absent one is none.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// How deep objects are compared; below, they are replaced as a whole.
const DEPTH_MAX: usize = 32;

/// What leads from `old` to `new`; nothing when they say the same, in any order.
pub fn difference(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut path = String::new();
    compare(old, new, &mut path, DEPTH_MAX, &mut changes);
    changes
}

fn compare(old: &Value, new: &Value, path: &mut String, depth: usize, changes: &mut Vec<Change>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) if depth > 0 => compare_fields((old, new), path, depth - 1, changes),
        _ if old == new => {}
        _ => changes.push(Change {
            path: path.clone(),
            value: Some(new.clone()),
        }),
    }
}

fn compare_fields(
    (old, new): (&Map<String, Value>, &Map<String, Value>),
    path: &mut String,
    depth: usize,
    changes: &mut Vec<Change>,
) {
    let length = path.len();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        push_name(path, name);
        changes.push(Change {
            path: path.clone(),
            value: None,
        });
        path.truncate(length);
    }
    for (name, value) in new {
        push_name(path, name);
        match old.get(name) {
            Some(before) => compare(before, value, path, depth, changes),
            None => changes.push(Change {
                path: path.clone(),
                value: Some(value.clone()),
            }),
        }
        path.truncate(length);
    }
}

fn push_name(path: &mut String, name: &str) {
    path.push('/');
    for character in name.chars() {
        match character {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            other => path.push(other),
        }
    }
}

/// Applies changes in order. What is on the way to a field and is not an object becomes one.
pub fn apply(document: &mut Value, changes: &[Change]) {
    for Change { path, value } in changes {
        apply_one(document, path, value.as_ref());
    }
}

fn apply_one(document: &mut Value, path: &str, value: Option<&Value>) {
    let mut names: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
    let Some(last) = names.pop() else {
        *document = value.cloned().unwrap_or_default();
        return;
    };
    let mut at = document;
    for name in names {
        let Some(fields) = fields(at) else { return };
        at = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    let Some(fields) = fields(at) else { return };
    match value {
        Some(value) => fields.insert(last, value.clone()),
        None => fields.shift_remove(&last),
    };
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// The fields of what is an object after this.
fn fields(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
