//! The shapes of bodies and answers: one table of members each.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::html::{escaped, prose};
use crate::openapi::document;

/// Where the document keeps shapes.
const AT: &str = "#/components/schemas/";

/// All shapes.
pub(super) fn section() -> String {
    let mut section =
        String::from("<section id=\"shapes\">\n<h2>shapes</h2>\n<p>What goes in and out, by its name.</p>\n");
    let schemas = document()["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let name = escaped(name);
        let _ = write!(
            section,
            "<details id=\"shape-{name}\"><summary><code>{name}</code> {}</summary>\n{}</details>\n",
            described(schema),
            tables(schema)
        );
    }
    section.push_str("</section>\n");
    section
}

fn described(schema: &Value) -> String {
    // What each word of an enumeration means follows the first line.
    let about = schema["description"].as_str().unwrap_or_default();
    let about = about.lines().next().unwrap_or_default();
    format!("<span class=\"summary\">{}</span>", prose(about))
}

/// The members of a shape, or of each of its variants.
fn tables(schema: &Value) -> String {
    if let Some(variants) = schema["oneOf"].as_array() {
        return variants.iter().map(tables).collect();
    }
    match schema["properties"].as_object() {
        Some(properties) => members(schema, properties),
        None => format!("<p class=\"kind\">{}</p>\n", kind(schema)),
    }
}

fn members(schema: &Value, properties: &Map<String, Value>) -> String {
    let required = schema["required"].as_array();
    let mut rows = String::new();
    for (name, schema) in properties {
        let always = required.is_some_and(|names| names.iter().any(|required| required == name));
        let note = if always { "" } else { "<em>may be missing</em> " };
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(
            rows,
            "<tr><th><code>{}</code></th><td>{}</td><td>{note}{}</td></tr>",
            escaped(name),
            kind(schema),
            prose(about)
        );
    }
    if rows.is_empty() {
        return "<p class=\"kind\">an object without members</p>\n".to_owned();
    }
    format!("<table>\n{rows}</table>\n")
}

/// What a schema allows, in a few words.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|target| target.strip_prefix(AT)) {
        let name = escaped(name);
        return format!("<a href=\"#shape-{name}\">{name}</a>");
    }
    if let Some(value) = schema.get("const") {
        return format!("<code>{}</code>", escaped(&value.to_string()));
    }
    for (word, between) in [("enum", ", "), ("anyOf", " or "), ("oneOf", " or ")] {
        if let Some(options) = schema[word].as_array() {
            let options: Vec<String> = options.iter().map(|option| choice(word, option)).collect();
            return options.join(between);
        }
    }
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<String> = kinds.iter().map(|one| of_type(one.as_str(), schema)).collect();
        return kinds.join(" or ");
    }
    of_type(schema["type"].as_str(), schema)
}

/// What a schema allows of a type.
fn of_type(name: Option<&str>, schema: &Value) -> String {
    match name {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("string") => string(schema),
        Some("integer") => format!("whole number{}", bounds(schema)),
        Some("object") => object(schema),
        Some(other) => escaped(other),
        None => "anything".to_owned(),
    }
}

fn choice(word: &str, option: &Value) -> String {
    match (word, option.as_str()) {
        ("enum", Some(text)) => format!("<code>{}</code>", escaped(text)),
        _ => kind(option),
    }
}

fn string(schema: &Value) -> String {
    let text = if schema["format"] == "date-time" {
        "time"
    } else {
        "text"
    };
    match schema["pattern"].as_str() {
        Some(pattern) => format!("{text} like <code>{}</code>", escaped(pattern)),
        None => text.to_owned(),
    }
}

fn bounds(schema: &Value) -> String {
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, _) => String::new(),
        (least, Value::Null) => format!(" from {least}"),
        (least, most) => format!(" from {least} to {most}"),
    }
}

/// An object that has no name of its own: its members in one line.
fn object(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return "object".to_owned();
    };
    let members: Vec<String> = properties
        .iter()
        .map(|(name, schema)| format!("<code>{}</code>: {}", escaped(name), kind(schema)))
        .collect();
    format!("{{ {} }}", members.join(", "))
}
