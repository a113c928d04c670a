//! What was expected against what happened.
//!
//! Maps are compared by what they name, lists whole, numbers by value. What differs is said at the innermost place
//! where it was expected.

use serde::Serialize;
use serde_json::{Value, json};

use super::course::Course;
use super::file::Expect;
use super::mock::millis;
use crate::source::{Content, Node, Position};

/// What happened, with every secret masked.
#[derive(Clone, Debug)]
pub struct Happened {
    /// What became of the action.
    pub course: Course,
    /// The requests that were sent, each as `{method, url, headers, body}`.
    pub sent: Vec<Value>,
}

/// Something that was not as expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmet {
    /// What differs: `status`, `result.data.id`, `sent[0].url`.
    pub field: String,
    /// What it should have been.
    pub expected: Value,
    /// What it was.
    pub actual: Value,
    /// The line of the expectation.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

impl Unmet {
    fn new(field: &str, at: Position, expected: Value, actual: Value) -> Self {
        Self {
            field: field.to_owned(),
            expected,
            actual,
            line: at.line,
            column: at.column,
        }
    }

    /// `status is "dead", expected "succeeded"`.
    pub fn sentence(&self) -> String {
        let shown = |value: &Value| match value {
            Value::Null => "nothing".to_owned(),
            other => other.to_string(),
        };
        let Self {
            field,
            expected,
            actual,
            ..
        } = self;
        format!("{field} is {}, expected {}", shown(actual), shown(expected))
    }
}

/// Everything that is not as expected.
pub fn compare(expect: &Expect, happened: &Happened) -> Vec<Unmet> {
    let Happened { course, sent } = happened;
    let action = &course.action;
    let mut unmet = Vec::new();
    for (name, node) in entries(&expect.node) {
        match name {
            "status" => within(name, node, &json!(action.status.word()), &mut unmet),
            "attempts" => within(name, node, &json!(course.tried.len()), &mut unmet),
            "delays" => delays(node, course, &mut unmet),
            "result" => within(name, node, &action.body.result.clone().unwrap_or_default(), &mut unmet),
            "event" => within(name, node, &json!(action.body.event), &mut unmet),
            "error" => within(name, node, &json!(action.body.last_error), &mut unmet),
            _ => requests(node, sent, &mut unmet),
        }
    }
    unmet
}

fn entries(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let entries = match &node.content {
        Content::Map(entries) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
}

/// Whether `actual` holds everything that `expected` names.
fn within(field: &str, expected: &Node, actual: &Value, unmet: &mut Vec<Unmet>) {
    match (&expected.content, actual) {
        (Content::Map(_), Value::Object(members)) => {
            for (name, node) in entries(expected) {
                let value = members.get(name).unwrap_or(&Value::Null);
                within(&format!("{field}.{name}"), node, value, unmet);
            }
        }
        (Content::List(nodes), Value::Array(values)) if nodes.len() == values.len() => {
            for (position, (node, value)) in nodes.iter().zip(values).enumerate() {
                within(&format!("{field}[{position}]"), node, value, unmet);
            }
        }
        _ => {
            let wanted = expected.to_value();
            if !alike(&wanted, actual) {
                unmet.push(Unmet::new(field, expected.at, wanted, actual.clone()));
            }
        }
    }
}

fn alike(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(expected), Value::Number(actual)) => {
            expected == actual || (expected.as_f64() == actual.as_f64() && expected.as_f64().is_some())
        }
        _ => expected == actual,
    }
}

/// Delays are the same, or lie in a range.
fn delays(expected: &Node, course: &Course, unmet: &mut Vec<Unmet>) {
    let actual: Vec<u64> = course.tried.iter().filter_map(|tried| tried.delay).collect();
    let Content::List(nodes) = &expected.content else {
        return;
    };
    if nodes.len() != actual.len() {
        unmet.push(Unmet::new("delays", expected.at, expected.to_value(), json!(actual)));
        return;
    }
    for (position, (node, actual)) in nodes.iter().zip(actual).enumerate() {
        let bound = |name: &str| node.get(name).and_then(|bound| millis(&bound.to_value()));
        let is_met = match (bound("from"), bound("to")) {
            (Some(from), Some(to)) => (from..=to).contains(&actual),
            _ => millis(&node.to_value()) == Some(actual),
        };
        if !is_met {
            let field = format!("delays[{position}]");
            unmet.push(Unmet::new(&field, node.at, node.to_value(), json!(actual)));
        }
    }
}

/// A map fits any request; a list fits all requests, in order.
fn requests(expected: &Node, sent: &[Value], unmet: &mut Vec<Unmet>) {
    let against = |field: &str, node: &Node, request: &Value| {
        let mut differing = Vec::new();
        within(field, &lowered(node), request, &mut differing);
        differing
    };
    if let Content::List(nodes) = &expected.content {
        if nodes.len() != sent.len() {
            let lines: Vec<String> = sent.iter().map(line).collect();
            unmet.push(Unmet::new("sent", expected.at, expected.to_value(), json!(lines)));
            return;
        }
        for (position, (node, request)) in nodes.iter().zip(sent).enumerate() {
            unmet.extend(against(&format!("sent[{position}]"), node, request));
        }
        return;
    }
    let tried = sent.iter().enumerate();
    let nearest = tried
        .map(|(position, request)| against(&format!("sent[{position}]"), expected, request))
        .min_by_key(Vec::len);
    match nearest {
        Some(differing) => unmet.extend(differing),
        None => unmet.push(Unmet::new("sent", expected.at, expected.to_value(), Value::Null)),
    }
}

/// `POST https://crm.example.com/contacts`.
fn line(request: &Value) -> String {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    format!("{} {}", text("method"), text("url"))
}

/// The same with the names of headers in lower case, as requests have them.
fn lowered(request: &Node) -> Node {
    let mut request = request.clone();
    if let Content::Map(entries) = &mut request.content {
        for entry in entries.iter_mut().filter(|entry| entry.key == "headers") {
            if let Content::Map(headers) = &mut entry.value.content {
                for header in headers {
                    header.key = header.key.to_ascii_lowercase();
                }
            }
        }
    }
    request
}
