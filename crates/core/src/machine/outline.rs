//! A machine as people read it: its transitions with the words they were written in.
//!
//! A compiled machine keeps no texts of its guards; the definition does. Transitions were compiled in the order in
//! which a state's definition holds them, so walking both side by side brings the two together.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::model::{Machine, StateIndex, Transition, TransitionIndex};

/// Guards are shown up to so many characters.
const GUARD_CHARACTERS_MAX: usize = 48;
/// The operators that people write between two things.
const INFIX: [&str; 16] = [
    "==", "===", "!=", "!==", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "in", "and", "or",
];

/// A transition, as the definition describes it.
#[derive(Clone, Debug)]
pub(super) struct Edge<'m> {
    /// The compiled one.
    pub(super) transition: &'m Transition,
    /// Where it is in the machine.
    pub(super) index: TransitionIndex,
    /// What sets it off: a descriptor, `always`, `onDone`, or `after 3d`.
    pub(super) event: String,
    /// As it was written: a target, or a map.
    pub(super) written: &'m Value,
}

impl Edge<'_> {
    /// `EVENT [guard]`.
    pub(super) fn label(&self) -> String {
        match self.guard() {
            Some(guard) => format!("{} [{guard}]", self.event),
            None => self.event.clone(),
        }
    }

    /// Its guard as people would write it, shortened.
    pub(super) fn guard(&self) -> Option<String> {
        self.written.get("guard").map(|guard| shorten(&rule(guard)))
    }

    /// The state it leaves from.
    pub(super) fn source(&self) -> StateIndex {
        self.transition.source
    }
}

/// The definition of a state.
pub(super) fn written(machine: &Machine, state: StateIndex) -> &Value {
    let mut way: Vec<StateIndex> = machine.ancestors(state).collect();
    way.reverse();
    way.push(state);
    way.iter().skip(1).fold(&machine.definition, |around, &inside| {
        let states = around.get("states").unwrap_or(&Value::Null);
        states.get(&machine.state(inside).name).unwrap_or(&Value::Null)
    })
}

/// All transitions, state by state in document order, those of a state as they were written.
pub(super) fn edges(machine: &Machine) -> Vec<Edge<'_>> {
    let mut by_source: BTreeMap<StateIndex, Vec<(TransitionIndex, &Transition)>> = BTreeMap::new();
    for (position, transition) in machine.transitions.iter().enumerate() {
        let indexed = (TransitionIndex(position), transition);
        by_source.entry(transition.source).or_default().push(indexed);
    }
    let mut edges = Vec::with_capacity(machine.transitions.len());
    for (source, transitions) in by_source {
        let words = words(written(machine, source), source == StateIndex::ROOT);
        let together = transitions.into_iter().zip(words);
        edges.extend(together.map(|((index, transition), (event, written))| Edge {
            transition,
            index,
            event,
            written,
        }));
    }
    edges
}

/// What a state's definition says about its transitions, in the order in which they are compiled.
fn words(state: &Value, is_root: bool) -> Vec<(String, &Value)> {
    let on = members(state.get("on")).map(|(name, written)| (name.clone(), written));
    let done = state.get("onDone").filter(|_| !is_root);
    let done = done.map(|written| ("onDone".to_owned(), written));
    let always = state.get("always").map(|written| ("always".to_owned(), written));
    let after = members(state.get("after")).map(|(delay, written)| (format!("after {delay}"), written));
    let all = on.chain(done).chain(always).chain(after);
    all.flat_map(|(event, written)| each(written).iter().map(move |one| (event.clone(), one)))
        .collect()
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The items of a list, or the value itself.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// A `JSONLogic` rule as people would write it, where there is a common way to.
pub(super) fn rule(rule: &Value) -> String {
    let Value::Object(members) = rule else {
        return rule.to_string();
    };
    let mut operators = members.iter();
    let (Some((operator, given)), None) = (operators.next(), operators.next()) else {
        return rule.to_string();
    };
    let operands = each(given);
    match (operator.as_str(), operands) {
        ("var", [Value::String(path)]) => path.clone(),
        ("!", [one]) => format!("not {}", operand(one)),
        ("!!", [one]) => operand(one),
        (operator, [_, _, ..]) if INFIX.contains(&operator) => {
            let operands: Vec<String> = operands.iter().map(operand).collect();
            operands.join(&format!(" {operator} "))
        }
        _ => {
            let operands: Vec<String> = operands.iter().map(self::rule).collect();
            format!("{operator}({})", operands.join(", "))
        }
    }
}

/// A rule inside another: in parentheses where it is written with an operator between its parts.
fn operand(value: &Value) -> String {
    let operator = value.as_object().and_then(|members| members.keys().next());
    let is_apart = operator.is_some_and(|operator| operator == "!" || INFIX.contains(&operator.as_str()));
    if is_apart {
        format!("({})", rule(value))
    } else {
        rule(value)
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= GUARD_CHARACTERS_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(GUARD_CHARACTERS_MAX - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::source::Format;
    use crate::machine::{LoadOptions, load_text};

    #[test]
    fn every_transition_meets_its_own_words() {
        let text = "
id: m
initial: a
on: { '*': .b }
states:
  a:
    after: { 5m: b }
    always: [{ target: b, guard: { '>': [{ var: variables.n }, 1] } }]
    initial: x
    onDone: b
    on: { GO: [{ target: b, guard: false }, a] }
    states: { x: { type: final } }
  b: { type: final }
variables: { n: 0 }
";
        let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
        let machine = loaded.machine.unwrap();
        let found: Vec<(String, Vec<&str>)> = edges(&machine)
            .iter()
            .map(|edge| {
                let targets = edge.transition.targets.iter();
                (
                    edge.label(),
                    targets.map(|&target| machine.display_path(target)).collect(),
                )
            })
            .collect();
        let expected = [
            ("*", "b"),
            ("GO [false]", "b"),
            ("GO", "a"),
            ("onDone", "b"),
            ("always [variables.n > 1]", "b"),
            ("after 5m", "b"),
        ];
        assert_eq!(found, expected.map(|(label, target)| (label.to_owned(), vec![target])));
    }

    #[test]
    fn rules_read_like_sentences() {
        let shown = |value: Value| rule(&value);
        assert_eq!(shown(json!({ ">=": [{ "var": "a.b" }, 30] })), "a.b >= 30");
        assert_eq!(
            shown(json!({ "and": [{ "!": { "var": "a" } }, { "or": [{ "var": "b" }, { "==": [1, 2] }] }] })),
            "(not a) and (b or (1 == 2))"
        );
        assert_eq!(shown(json!({ "in_state": "x" })), "in_state(\"x\")");
        assert_eq!(shown(json!(true)), "true");
        assert!(shorten(&"x".repeat(60)).ends_with('…'));
    }
}
