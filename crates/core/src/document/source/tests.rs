//! The readers against tables of documents, by subject; `properties` states what holds for all documents.

use super::node::{Content, Node};
use super::parse::parse_node;
use super::{Format, Limits, ParseError, Position};

mod json;
mod limits;
mod names;
mod positions;
mod properties;
mod toml;
mod yaml;

fn read(text: &str, format: Format) -> Node {
    parse_node(text, format, &Limits::DEFINITION).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn refused(text: &str, format: Format) -> ParseError {
    match parse_node(text, format, &Limits::DEFINITION) {
        Ok(node) => panic!("{text:?} was accepted: {}", node.into_value()),
        Err(error) => error,
    }
}

fn at(line: u32, column: u32) -> Position {
    Position { line, column }
}

/// Every value of a tree with its pointer, in document order, keys included as `pointer:`.
fn places(node: &Node) -> Vec<(String, u32, u32)> {
    fn walk(node: &Node, pointer: &str, found: &mut Vec<(String, u32, u32)>) {
        found.push((pointer.to_owned(), node.at.line, node.at.column));
        match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{pointer}/{index}"), found);
                }
            }
            Content::Map(entries) => {
                for entry in entries {
                    let pointer = format!("{pointer}/{}", entry.key);
                    found.push((format!("{pointer}:"), entry.key_at.line, entry.key_at.column));
                    walk(&entry.value, &pointer, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(node, "", &mut found);
    found
}

#[track_caller]
fn assert_places(text: &str, format: Format, expected: &[(&str, u32, u32)]) {
    let found = places(&read(text, format));
    let found: Vec<_> = found
        .iter()
        .map(|(pointer, line, column)| (pointer.as_str(), *line, *column))
        .collect();
    assert_eq!(found, expected, "{text}");
}
