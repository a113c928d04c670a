//! JSON Patch (RFC 6902), as far as people and suggested fixes need it: `add`, `replace`, `remove` and `test`.
//!
//! A patch is applied whole or not at all. Every patch gives a document or an error that names the operation.
//!
//! Own code rather than the crate `json-patch`: its errors do not tell a missing value from a place that a list or a text does
//! not have, and its `move` and `copy` let a short patch grow a document without bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most operations of a patch.
pub const OPERATIONS_MAX: usize = 100;

/// One change of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
#[schemars(rename = "PatchOperation")]
pub enum Operation {
    /// Adds a value: sets a member, or inserts an item before the one at this index (`-`: at the end).
    Add {
        /// Where, as a JSON pointer.
        path: String,
        /// What.
        value: Value,
    },
    /// Replaces the value.
    Replace {
        /// Where, as a JSON pointer.
        path: String,
        /// What.
        value: Value,
    },
    /// Removes the value.
    Remove {
        /// Where, as a JSON pointer.
        path: String,
    },
    /// Continues only if the value is equal.
    Test {
        /// Where, as a JSON pointer.
        path: String,
        /// What it must be.
        value: Value,
    },
}

impl Operation {
    /// Where it applies.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Replace { path, .. } | Self::Remove { path } | Self::Test { path, .. } => {
                path
            }
        }
    }
}

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It has too many operations.
    #[error("a patch has at most {OPERATIONS_MAX} operations, this one {count}")]
    TooLong {
        /// How many.
        count: usize,
    },
    /// An operation cannot be applied.
    #[error("operation {position} at `{path}`: {detail}")]
    Operation {
        /// Which, from 0.
        position: usize,
        /// Where it would have applied.
        path: String,
        /// Why not.
        detail: &'static str,
    },
}

/// The document with the patch applied.
pub fn apply(document: &Value, patch: &[Operation]) -> Result<Value, PatchError> {
    if patch.len() > OPERATIONS_MAX {
        return Err(PatchError::TooLong { count: patch.len() });
    }
    let mut patched = document.clone();
    for (position, operation) in patch.iter().enumerate() {
        apply_one(&mut patched, operation).map_err(|detail| PatchError::Operation {
            position,
            path: operation.path().chars().take(128).collect(),
            detail,
        })?;
    }
    Ok(patched)
}

fn apply_one(document: &mut Value, operation: &Operation) -> Result<(), &'static str> {
    match operation {
        Operation::Add { path, value } => add(document, path, value.clone()),
        Operation::Replace { path, value } => {
            *document.pointer_mut(path).ok_or(NOTHING)? = value.clone();
            Ok(())
        }
        Operation::Remove { path } => remove(document, path),
        Operation::Test { path, value } => match document.pointer(path) {
            Some(found) if found == value => Ok(()),
            _ => Err("the value is different"),
        },
    }
}

const NOTHING: &str = "there is no value";

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), &'static str> {
    let Some((parent, last)) = split(path) else {
        *document = value;
        return Ok(());
    };
    match document.pointer_mut(parent).ok_or("its parent does not exist")? {
        Value::Object(members) => {
            members.insert(last, value);
            Ok(())
        }
        Value::Array(items) if last == "-" => {
            items.push(value);
            Ok(())
        }
        Value::Array(items) => match index(&last).filter(|index| *index <= items.len()) {
            Some(index) => {
                items.insert(index, value);
                Ok(())
            }
            None => Err("the list has no such index"),
        },
        _ => Err("only lists and objects have members"),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<(), &'static str> {
    let Some((parent, last)) = split(path) else {
        return Err("the whole document cannot be removed");
    };
    match document.pointer_mut(parent).ok_or(NOTHING)? {
        Value::Object(members) => members.remove(&last).map(drop).ok_or(NOTHING),
        Value::Array(items) => {
            let index = index(&last).filter(|index| *index < items.len()).ok_or(NOTHING)?;
            items.remove(index);
            Ok(())
        }
        _ => Err(NOTHING),
    }
}

/// The pointer of the parent and the name inside it; none for the whole document.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// A position in a list: digits without leading zeros.
fn index(text: &str) -> Option<usize> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(document: &Value, patch: Value) -> Result<Value, PatchError> {
        let patch: Vec<Operation> = serde_json::from_value(patch).unwrap();
        apply(document, &patch)
    }

    #[test]
    fn values_are_added_replaced_removed_and_compared() {
        let document = json!({"timeout": 1, "list": ["a", "b"], "a/b": {"~": 1}});
        let patch = json!([
            {"op": "test", "path": "/timeout", "value": 1},
            {"op": "replace", "path": "/timeout", "value": 2},
            {"op": "add", "path": "/list/-", "value": "c"},
            {"op": "add", "path": "/list/0", "value": "z"},
            {"op": "remove", "path": "/list/1"},
            {"op": "add", "path": "/a~1b/~0", "value": null},
        ]);
        let expected = json!({"timeout": 2, "list": ["z", "b", "c"], "a/b": {"~": null}});
        assert_eq!(patched(&document, patch), Ok(expected));
    }

    #[test]
    fn what_cannot_be_applied_names_the_operation_and_the_place() {
        let document = json!({"list": [], "text": "x"});
        let wrong = [
            (
                json!({"op": "replace", "path": "/gone", "value": 1}),
                "there is no value",
            ),
            (json!({"op": "remove", "path": "/list/0"}), "there is no value"),
            (
                json!({"op": "add", "path": "/list/01", "value": 1}),
                "the list has no such index",
            ),
            (
                json!({"op": "add", "path": "/text/x", "value": 1}),
                "only lists and objects have members",
            ),
            (
                json!({"op": "test", "path": "/text", "value": 1}),
                "the value is different",
            ),
            (
                json!({"op": "remove", "path": ""}),
                "the whole document cannot be removed",
            ),
        ];
        for (operation, detail) in wrong {
            let error = patched(&document, json!([operation])).unwrap_err().to_string();
            assert!(error.starts_with("operation 0 at `"), "{error}");
            assert!(error.ends_with(detail), "{error}");
        }
        let many = vec![json!({"op": "test", "path": "/text", "value": "x"}); OPERATIONS_MAX + 1];
        let error = patched(&document, json!(many)).unwrap_err();
        assert_eq!(
            error,
            PatchError::TooLong {
                count: OPERATIONS_MAX + 1
            }
        );
    }
}
