//! The one way in: a document's text in a known format becomes a tree.

use serde_json::Value;

use super::error::{Cause, ParseError};
use super::format::Format;
use super::limits::Limits;
use super::node::{Node, Position};
use super::tree::Document;
use super::{json, toml, yaml};

/// Reads one document.
///
/// Numbers keep their meaning: integers that fit neither `i64` nor `u64` and numbers infinite as `f64` are refused,
/// other fractions become the nearest `f64`. A key given twice in one map is refused in every format.
pub fn parse(text: &str, format: Format, limits: &Limits) -> Result<Document, ParseError> {
    parse_node(text, format, limits).map(Node::split)
}

/// Reads one document without keeping its positions.
pub fn parse_value(text: &str, format: Format, limits: &Limits) -> Result<Value, ParseError> {
    parse_node(text, format, limits).map(Node::into_value)
}

pub(super) fn parse_node(text: &str, format: Format, limits: &Limits) -> Result<Node, ParseError> {
    // The size comes first, so that no other check has to walk a text that is refused anyway.
    if text.len() > limits.bytes {
        let detail = format!(
            "the document has `{}` bytes, at most `{}` are read",
            text.len(),
            limits.bytes
        );
        return Err(ParseError::new(Position::START, Cause::TooLarge, detail));
    }
    match format {
        Format::Yaml => yaml::parse(text, limits),
        Format::Json => json::parse(text, limits),
        Format::Toml => toml::parse(text, limits),
    }
}
