//! Differences, as people read them.

use super::*;
use crate::document::source::Format;
use crate::machine::{LoadOptions, load_text};

const BEFORE: &str = "
id: m
variables: { a: 1, b: 2 }
input: { type: object }
initial: one
states:
  one:
    on: { GO: [{ target: two, guard: { '>': [{ var: variables.a }, 1] } }, three] }
  two: { on: { BACK: one, END: three } }
  three: { type: final }
actions:
  - { actionId: tell, type: noop, triggerState: one, config: {}, timeout: 30s }
  - { actionId: ask, type: noop, triggerState: two, config: {} }
";

fn machine(text: &str) -> Machine {
    let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
    loaded.machine.unwrap_or_else(|| panic!("{:?}", loaded.findings))
}

fn lines(replaced: &[(&str, &str)]) -> Vec<String> {
    let after = replaced.iter().fold(BEFORE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    diff(&machine(BEFORE), &machine(&after)).lines()
}

#[test]
fn the_same_machine_has_no_difference_however_its_targets_are_written() {
    assert!(diff(&machine(BEFORE), &machine(BEFORE)).is_empty());
    assert_eq!(
        lines(&[("BACK: one", "BACK: { target: ['#m.one'], reenter: false }")]),
        Vec::<String>::new()
    );
}

#[test]
fn data_states_and_actions_are_compared_by_name() {
    let found = lines(&[
        ("b: 2", "c: 2"),
        ("a: 1", "a: 3"),
        (
            "  three: { type: final }",
            "  three: { type: final, output: { x: 1 } }\n  four: { type: final }",
        ),
        ("type: object", "type: object, required: [a]"),
        ("timeout: 30s", "timeout: 5s"),
        ("actionId: ask", "actionId: beg"),
        ("END: three", "END: four"),
    ]);
    let expected = [
        "~ machine m",
        "    input: {\"type\":\"object\"} -> {\"type\":\"object\",\"required\":[\"a\"]}",
        "~ variable a",
        "    default: 1 -> 3",
        "- variable b",
        "+ variable c",
        "~ state three",
        "    output: (none) -> {\"x\":1}",
        "+ state four",
        "~ transition two --END--> three",
        "    target: [\"three\"] -> [\"four\"]",
        "~ action tell",
        "    timeout: \"30s\" -> \"5s\"",
        "- action ask",
        "+ action beg",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_transition_put_before_others_is_one_change() {
    let found = lines(&[("GO: [", "GO: [{ target: one, reenter: true, guard: false }, ")]);
    assert_eq!(found, ["+ transition one --GO [false]--> one"]);
}

#[test]
fn a_state_that_becomes_compound_says_so_and_lists_what_is_inside() {
    let found = lines(&[("two: { ", "two: { initial: in, states: { in: {} }, ")]);
    let expected = [
        "~ state two",
        "    type: \"atomic\" -> \"compound\"",
        "    initial: (none) -> [\"two.in\"]",
        "+ state two.in",
    ];
    assert_eq!(found, expected);
}

#[test]
fn another_order_is_a_difference() {
    let after = BEFORE
        .replace("  three: { type: final }\n", "")
        .replace("states:\n", "states:\n  three: { type: final }\n");
    let difference = diff(&machine(BEFORE), &machine(&after));
    assert_eq!(
        difference.lines().first().map(String::as_str),
        Some("~ machine order of states")
    );
    assert_eq!(difference.changes.len(), 1);
}

#[test]
fn as_json_every_change_has_its_kind_and_its_fields() {
    let after = BEFORE.replace("a: 1", "a: 3");
    let document = json!(diff(&machine(BEFORE), &machine(&after)));
    let field = json!({ "field": "default", "before": 1, "after": 3 });
    let change = json!({ "change": "changed", "what": "variable", "name": "a", "fields": [field] });
    assert_eq!(document, json!({ "changes": [change] }));
}
