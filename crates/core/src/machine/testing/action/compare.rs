//! What was expected against what happened.
//!
//! Maps are compared by what they name, lists whole, numbers by value. What differs is said at the innermost place
//! where it was expected.

use serde::Serialize;
use serde_json::{Value, json};

use super::case::Expect;
use super::course::Course;
use crate::document::millis;
use crate::document::source::{Document, Position, Spot};

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
    fn new(field: &str, expected: &Spot<'_>, actual: Value) -> Self {
        let Position { line, column } = expected.place().at;
        Self {
            field: field.to_owned(),
            expected: expected.value.clone(),
            actual,
            line,
            column,
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
    for (name, spot) in expect.document.root().members() {
        match name {
            "status" => within(name, &spot, &json!(action.status.word()), &mut unmet),
            "attempts" => within(name, &spot, &json!(course.tried.len()), &mut unmet),
            "delays" => delays(&spot, course, &mut unmet),
            "result" => within(name, &spot, &action.body.result.clone().unwrap_or_default(), &mut unmet),
            "event" => within(name, &spot, &json!(action.body.event), &mut unmet),
            "error" => within(name, &spot, &json!(action.body.last_error), &mut unmet),
            _ => requests(&spot, sent, &mut unmet),
        }
    }
    unmet
}

/// Whether `actual` holds everything that `expected` names.
fn within(field: &str, expected: &Spot<'_>, actual: &Value, unmet: &mut Vec<Unmet>) {
    match (expected.value, actual) {
        (Value::Object(_), Value::Object(members)) => {
            for (name, member) in expected.members() {
                let value = members.get(name).unwrap_or(&Value::Null);
                within(&format!("{field}.{name}"), &member, value, unmet);
            }
        }
        (Value::Array(wanted), Value::Array(values)) if wanted.len() == values.len() => {
            for (position, (item, value)) in expected.items().zip(values).enumerate() {
                within(&format!("{field}[{position}]"), &item, value, unmet);
            }
        }
        (wanted, _) => {
            if !alike(wanted, actual) {
                unmet.push(Unmet::new(field, expected, actual.clone()));
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
fn delays(expected: &Spot<'_>, course: &Course, unmet: &mut Vec<Unmet>) {
    let actual: Vec<u64> = course.tried.iter().filter_map(|tried| tried.delay).collect();
    let wanted: Vec<Spot<'_>> = expected.items().collect();
    if wanted.len() != actual.len() {
        unmet.push(Unmet::new("delays", expected, json!(actual)));
        return;
    }
    for (position, (spot, actual)) in wanted.iter().zip(actual).enumerate() {
        let bound = |name: &str| spot.value.get(name).and_then(millis);
        let is_met = match (bound("from"), bound("to")) {
            (Some(from), Some(to)) => (from..=to).contains(&actual),
            _ => millis(spot.value) == Some(actual),
        };
        if !is_met {
            unmet.push(Unmet::new(&format!("delays[{position}]"), spot, json!(actual)));
        }
    }
}

/// A map fits any request; a list fits all requests, in order.
fn requests(expected: &Spot<'_>, sent: &[Value], unmet: &mut Vec<Unmet>) {
    let against = |position: usize, spot: &Spot<'_>, request: &Value| {
        let mut differing = Vec::new();
        within(
            &format!("sent[{position}]"),
            &lowered(spot).root(),
            request,
            &mut differing,
        );
        differing
    };
    if let Value::Array(wanted) = expected.value {
        if wanted.len() != sent.len() {
            let lines: Vec<String> = sent.iter().map(line).collect();
            unmet.push(Unmet::new("sent", expected, json!(lines)));
            return;
        }
        for (position, (spot, request)) in expected.items().zip(sent).enumerate() {
            unmet.extend(against(position, &spot, request));
        }
        return;
    }
    let tried = sent.iter().enumerate();
    let nearest = tried
        .map(|(position, request)| against(position, expected, request))
        .min_by_key(Vec::len);
    match nearest {
        Some(differing) => unmet.extend(differing),
        None => unmet.push(Unmet::new("sent", expected, Value::Null)),
    }
}

/// `POST https://crm.example.com/contacts`.
fn line(request: &Value) -> String {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    format!("{} {}", text("method"), text("url"))
}

/// The same with the names of headers in lower case, as requests have them.
fn lowered(request: &Spot<'_>) -> Document {
    let mut request = request.to_document();
    if let Some(Value::Object(headers)) = request.value.get_mut("headers") {
        let lowered = std::mem::take(headers).into_iter();
        *headers = lowered
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
    }
    request
}
