//! The tree that a parser builds: JSON's kinds of values, each with the place it was written at.
//!
//! Maps keep the document's order and hold every key once.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::error::{ParseError, shown};
use super::tree::{Document, Marks};

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
pub(super) struct Node {
    /// Where the value starts.
    pub(super) at: Position,
    /// What the value is.
    pub(super) content: Content,
}

/// The kinds of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
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
pub(super) struct Entry {
    /// The name. A YAML number or boolean in this place is taken as it is written.
    pub(super) key: String,
    /// Where the name starts.
    pub(super) key_at: Position,
    /// What it names.
    pub(super) value: Node,
}

impl Node {
    /// The value and, apart from it, where everything in it stands. No text is copied.
    pub(super) fn split(self) -> Document {
        let at = self.at;
        let (value, inside) = match self.content {
            Content::Null => (Value::Null, Vec::new()),
            Content::Bool(truth) => (Value::Bool(truth), Vec::new()),
            Content::Number(number) => (Value::Number(number), Vec::new()),
            Content::Text(text) => (Value::String(text), Vec::new()),
            Content::List(items) => {
                let (values, inside) = items.into_iter().map(|item| item.split_off(None)).unzip();
                (Value::Array(values), inside)
            }
            Content::Map(entries) => {
                let mut members = Map::with_capacity(entries.len());
                let mut inside = Vec::with_capacity(entries.len());
                for entry in entries {
                    let (value, mark) = entry.value.split_off(Some(entry.key_at));
                    members.insert(entry.key, value);
                    inside.push(mark);
                }
                (Value::Object(members), inside)
            }
        };
        let marks = Marks {
            at,
            key_at: None,
            inside,
        };
        Document { value, marks }
    }

    fn split_off(self, key_at: Option<Position>) -> (Value, Marks) {
        let Document { value, marks } = self.split();
        (value, Marks { key_at, ..marks })
    }

    /// The value alone.
    pub(super) fn into_value(self) -> Value {
        match self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(truth),
            Content::Number(number) => Value::Number(number),
            Content::Text(text) => Value::String(text),
            Content::List(items) => Value::Array(items.into_iter().map(Node::into_value).collect()),
            Content::Map(entries) => {
                let members = entries.into_iter().map(|entry| (entry.key, entry.value.into_value()));
                Value::Object(members.collect())
            }
        }
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
