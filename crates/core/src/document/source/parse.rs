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

/// Reads a file that may hold several documents, which only YAML can: `---` stands between them.
pub fn parse_all(text: &str, format: Format, limits: &Limits) -> Result<Vec<Document>, ParseError> {
    if format != Format::Yaml {
        return parse(text, format, limits).map(|only| vec![only]);
    }
    check_size(text, limits)?;
    let nodes = yaml::parse_all(text, limits)?;
    Ok(nodes.into_iter().map(Node::split).collect())
}

/// The size comes first, so that no other check has to walk a text that is refused anyway.
fn check_size(text: &str, limits: &Limits) -> Result<(), ParseError> {
    if text.len() <= limits.bytes {
        return Ok(());
    }
    let (bytes, most) = (text.len(), limits.bytes);
    let detail = format!("the document has `{bytes}` bytes, at most `{most}` are read");
    Err(ParseError::new(Position::START, Cause::TooLarge, detail))
}

pub(super) fn parse_node(text: &str, format: Format, limits: &Limits) -> Result<Node, ParseError> {
    check_size(text, limits)?;
    match format {
        Format::Yaml => yaml::parse(text, limits),
        Format::Json => json::parse(text, limits),
        Format::Toml => toml::parse(text, limits),
    }
}
