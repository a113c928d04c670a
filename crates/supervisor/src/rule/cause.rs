//! Why a condition is true, as a sentence: the observed values that it reads.
//!
//! `pipeline.observed.outputConnections is 0` tells a person more than the condition does. If several parts are true
//! together, the sentence leaves out the parts that most rules share (`broker.state is running`).

use serde_json::Value;
use sprag_core::expression::logic::{Fuel, Logic};
use sprag_core::expression::scope::{Path, Scope};

use super::View;

/// Characters of a value that are shown.
const VALUE_CHARACTERS_MAX: usize = 80;
/// Characters of the whole sentence.
const SENTENCE_CHARACTERS_MAX: usize = 400;

/// One thing that was observed.
struct Fact {
    text: String,
    /// Rules are judged only while it holds.
    is_ordinary: bool,
}

/// Why the condition holds.
pub(super) fn sentence(condition: &Value, view: &View) -> String {
    let facts = facts(condition, view);
    let is_telling = facts.iter().any(|fact| !fact.is_ordinary);
    let mut told: Vec<String> = Vec::new();
    for fact in facts.into_iter().filter(|fact| !(is_telling && fact.is_ordinary)) {
        if !told.contains(&fact.text) {
            told.push(fact.text);
        }
    }
    if told.is_empty() {
        return "its condition holds".to_owned();
    }
    shortened(&told.join(" and "), SENTENCE_CHARACTERS_MAX)
}

fn facts(condition: &Value, view: &View) -> Vec<Fact> {
    let Some((operator, operands)) = operation(condition) else {
        return Vec::new();
    };
    match operator {
        "and" => operands.iter().flat_map(|part| facts(part, view)).collect(),
        "or" => {
            let holding = operands.iter().filter(|part| holds(part, view));
            holding.flat_map(|part| facts(part, view)).collect()
        }
        _ => match comparison(operator, operands, view) {
            Some(fact) => vec![fact],
            None => observed(condition, view),
        },
    }
}

/// The operator and its operands. One that is no list is the only one.
fn operation(condition: &Value) -> Option<(&str, &[Value])> {
    let members = condition.as_object().filter(|members| members.len() == 1)?;
    let (operator, operands) = members.iter().next()?;
    let operands = match operands {
        Value::Array(operands) => operands.as_slice(),
        one => std::slice::from_ref(one),
    };
    Some((operator, operands))
}

fn holds(condition: &Value, view: &View) -> bool {
    let compiled = Logic::compile(condition).ok();
    compiled.is_some_and(|logic| logic.test(view, &mut Fuel::default()).unwrap_or(false))
}

/// A value held against a constant.
fn comparison(operator: &str, operands: &[Value], view: &View) -> Option<Fact> {
    let [left, right] = operands else { return None };
    let (path, constant, is_flipped) = match (variable(left), variable(right)) {
        (Some(path), None) => (path, right, false),
        (None, Some(path)) => (path, left, true),
        _ => return None,
    };
    if constant.is_object() {
        return None;
    }
    let constant = value_text(constant);
    let bound = match (operator, is_flipped) {
        ("==" | "===" | "in", _) => String::new(),
        ("!=" | "!==", _) => format!(", not {constant}"),
        ("<", false) | (">", true) => format!(", less than {constant}"),
        ("<=", false) | (">=", true) => format!(", not more than {constant}"),
        (">", false) | ("<", true) => format!(", more than {constant}"),
        (">=", false) | ("<=", true) => format!(", not less than {constant}"),
        _ => return None,
    };
    let mut fact = fact(path, view)?;
    fact.text.push_str(&bound);
    Some(fact)
}

/// Everything that was observed of what the condition names.
fn observed(condition: &Value, view: &View) -> Vec<Fact> {
    if let Some(path) = variable(condition) {
        return fact(path, view).into_iter().collect();
    }
    match condition {
        Value::Array(items) => items.iter().flat_map(|item| observed(item, view)).collect(),
        Value::Object(members) => members.values().flat_map(|member| observed(member, view)).collect(),
        _ => Vec::new(),
    }
}

fn variable(operand: &Value) -> Option<&str> {
    match operation(operand)? {
        ("var", [path, ..]) => path.as_str(),
        _ => None,
    }
}

fn fact(path: &str, view: &View) -> Option<Fact> {
    let parsed = Path::parse(path);
    let value = view.lookup(&parsed)?;
    let is_state = matches!(parsed.segments(), [_, state] if state.as_ref() == "state");
    Some(Fact {
        text: format!("{path} is {}", value_text(&value)),
        is_ordinary: is_state && *value == "running",
    })
}

fn value_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        other => other.to_string(),
    };
    shortened(&text, VALUE_CHARACTERS_MAX)
}

fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view() -> View {
        let pipeline = json!({ "outputConnections": 0, "lag": 7, "mode": "slow", "on": false });
        View::default()
            .with("broker", "running", &json!({ "peers": 3 }))
            .with("pipeline", "degraded", &pipeline)
    }

    fn var(path: &str) -> Value {
        json!({ "var": path })
    }

    #[test]
    fn a_cause_is_what_was_observed() {
        let connections = var("pipeline.observed.outputConnections");
        let lag = var("pipeline.observed.lag");
        for (condition, wanted) in [
            (
                json!({ "==": [connections, 0] }),
                "pipeline.observed.outputConnections is 0",
            ),
            (
                json!({ "and": [{ "==": [var("broker.state"), "running"] }, { "==": [connections, 0] }] }),
                "pipeline.observed.outputConnections is 0",
            ),
            (json!({ ">": [lag, 5] }), "pipeline.observed.lag is 7, more than 5"),
            (json!({ "<": [5, lag] }), "pipeline.observed.lag is 7, more than 5"),
            (json!({ ">=": [lag, 7] }), "pipeline.observed.lag is 7, not less than 7"),
            (
                json!({ "!=": [var("pipeline.observed.mode"), "fast"] }),
                "pipeline.observed.mode is slow, not fast",
            ),
            (
                json!({ "or": [{ ">": [lag, 100] }, { "==": [var("pipeline.state"), "degraded"] }] }),
                "pipeline.state is degraded",
            ),
            (
                json!({ "!": var("pipeline.observed.on") }),
                "pipeline.observed.on is false",
            ),
            (
                json!({ "<": [var("broker.observed.peers"), lag] }),
                "broker.observed.peers is 3 and pipeline.observed.lag is 7",
            ),
            (
                json!({ "==": [var("broker.state"), "running"] }),
                "broker.state is running",
            ),
        ] {
            assert_eq!(sentence(&condition, &view()), wanted, "{condition}");
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        let view = View::default().with("a", "running", &json!({ "text": "x".repeat(10_000) }));
        let told = sentence(&json!({ "!=": [{ "var": "a.observed.text" }, "y"] }), &view);
        assert!(told.chars().count() < 120, "{told}");
        assert!(told.ends_with("…, not y"), "{told}");
    }
}
