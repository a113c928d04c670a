//! The tree a document becomes: JSON's kinds of values, each with the place it was written at.
//!
//! Maps keep the document's order and hold every key once.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Number, Value};

use super::error::{ParseError, shown};

/// A place in a document. Columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The character on the line, from 1.
    pub column: u32,
}

impl Position {
    /// The first character of a document.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value and the place of its first character.
///
/// In YAML an anchor or a tag belongs to its value, a block text (`|`, `>`) starts with its first line, an alias
/// stands where it is written while what is inside it stands where the anchor is, and a value left empty stands at
/// its key or at the dash of its list entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where the value starts.
    pub at: Position,
    /// What the value is.
    pub content: Content,
}

/// The kinds of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer that fits `i64` or `u64`, or a finite `f64`.
    Number(Number),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Named values in the document's order.
    Map(Vec<Entry>),
}

/// One named value of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name. A YAML number or boolean in this place is taken as it is written.
    pub key: String,
    /// Where the name starts.
    pub key_at: Position,
    /// What it names.
    pub value: Node,
}

impl Node {
    /// A value that was not written anywhere: all of it stands at the start.
    pub fn of(value: &Value) -> Self {
        let content = match value {
            Value::Null => Content::Null,
            Value::Bool(truth) => Content::Bool(*truth),
            Value::Number(number) => Content::Number(number.clone()),
            Value::String(text) => Content::Text(text.clone()),
            Value::Array(items) => Content::List(items.iter().map(Self::of).collect()),
            Value::Object(members) => Content::Map(members.iter().map(|(key, value)| Entry::of(key, value)).collect()),
        };
        Self {
            at: Position::START,
            content,
        }
    }

    /// The value a map holds under `key`; nothing if this is not a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The value a JSON pointer (RFC 6901) leads to; `""` is this value itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Node> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer
            .strip_prefix('/')?
            .split('/')
            .try_fold(self, |node, token| node.child(token))
    }

    /// What a message calls this kind of value.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Number(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// The same value without positions, maps in the document's order.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(*truth),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Content::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_value()))
                    .collect(),
            ),
        }
    }

    /// Like [`Node::to_value`], for a tree that is not needed any more: no text is copied.
    pub fn into_value(self) -> Value {
        match self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(truth),
            Content::Number(number) => Value::Number(number),
            Content::Text(text) => Value::String(text),
            Content::List(items) => Value::Array(items.into_iter().map(Node::into_value).collect()),
            Content::Map(entries) => Value::Object(
                entries
                    .into_iter()
                    .map(|entry| (entry.key, entry.value.into_value()))
                    .collect(),
            ),
        }
    }

    fn child(&self, token: &str) -> Option<&Node> {
        match &self.content {
            Content::Map(_) => self.get(&token.replace("~1", "/").replace("~0", "~")),
            Content::List(items) => items.get(index(token)?),
            _ => None,
        }
    }
}

impl Entry {
    /// A named value that was not written anywhere.
    pub fn of(key: &str, value: &Value) -> Self {
        Self {
            key: key.to_owned(),
            key_at: Position::START,
            value: Node::of(value),
        }
    }
}

/// A list index as RFC 6901 writes it: digits alone, without leading zeros.
fn index(token: &str) -> Option<usize> {
    let padded = token.len() > 1 && token.starts_with('0');
    if padded || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        None
    } else {
        token.parse().ok()
    }
}

/// Refuses a map in which a key is given twice, naming both places.
pub(super) fn refuse_duplicates(entries: &[Entry]) -> Result<(), ParseError> {
    let mut seen = BTreeMap::new();
    for entry in entries {
        if let Some(first) = seen.insert(entry.key.as_str(), entry.key_at) {
            let detail = format!("key `{}` is given twice, first at {first}", shown(&entry.key));
            return Err(ParseError::syntax(entry.key_at, detail).remedy("remove or rename one of the two"));
        }
    }
    Ok(())
}
