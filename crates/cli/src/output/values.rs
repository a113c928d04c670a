//! Values of servers as text may show them: each on its line.

use serde_json::{Map, Value};

use super::terminal::one_line;

/// Members that hold documents of their own, which text shows as JSON: there a line break is escaped already.
const DOCUMENTS: [&str; 9] = [
    "config",
    "definition",
    "fixPatch",
    "input",
    "output",
    "patch",
    "payload",
    "result",
    "variables",
];

/// The same document, with every text and every name on one line.
pub(super) fn on_one_line(document: &Value) -> Value {
    match document {
        Value::String(text) => Value::String(one_line(text)),
        Value::Array(items) => Value::Array(items.iter().map(on_one_line).collect()),
        Value::Object(members) => Value::Object(members.iter().map(member).collect::<Map<_, _>>()),
        other => other.clone(),
    }
}

fn member((name, value): (&String, &Value)) -> (String, Value) {
    let is_document = DOCUMENTS.contains(&name.as_str()) && (value.is_object() || value.is_array());
    let value = if is_document { value.clone() } else { on_one_line(value) };
    (one_line(name), value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_and_name_stays_on_its_line() {
        let document =
            json!({"id": "a\nb", "tags": ["c\rd"], "limits": {"e\nf": "g\u{85}h"}, "variables": {"i": "j\nk"}});
        let shown =
            json!({"id": "a\\nb", "tags": ["c\\rd"], "limits": {"e\\nf": "g\\u0085h"}, "variables": {"i": "j\nk"}});
        assert_eq!(on_one_line(&document), shown);
    }

    #[test]
    fn a_text_in_the_place_of_a_document_is_no_exception() {
        assert_eq!(on_one_line(&json!({"output": "a\nb"})), json!({"output": "a\\nb"}));
    }
}
