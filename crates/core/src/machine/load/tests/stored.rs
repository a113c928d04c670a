//! Definitions that were applied once.

use serde_json::{Value, json};

use super::accepted::EVERYTHING;
use super::machine;
use crate::document::source::Format;
use crate::machine::load::{LoadOptions, load_stored, load_text};
use crate::text::is_printable;

#[test]
fn a_stored_definition_compiles_to_the_same_machine() {
    let applied = load_text(EVERYTHING, Format::Yaml, &LoadOptions::default())
        .machine
        .unwrap();
    let stored = load_stored(&applied.definition).unwrap();
    assert_eq!(stored.digest, applied.digest);
    assert_eq!(stored.states.len(), applied.states.len());
    assert_eq!(stored.transitions.len(), applied.transitions.len());
    assert_eq!(stored.results_named, applied.results_named);
}

#[test]
fn rules_that_came_later_do_not_apply_to_it() {
    let definition = json!({
        "id": "not a name any more", "keyOfAnotherTime": 1, "initial": "a",
        "states": {"a": {"on": {"X": {"target": "b", "guard": {"var": "mesage.x"}}}}, "b": {"type": "final", "on": {"X": "a"}}},
        "actions": [{"actionId": "x", "type": "gone", "config": {}}],
    });
    let machine = load_stored(&definition).unwrap();
    assert_eq!(machine.states.len(), 3);
}

#[test]
fn what_cannot_be_compiled_is_an_error_that_says_why() {
    let error = load_stored(&json!({"id": "m", "initial": "gone", "states": {"a": {}}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stored definition cannot be compiled: there is no state `gone`"
    );
    assert_eq!(error.findings[0].pointer, "/initial");
}

#[test]
fn a_stored_definition_of_many_states_is_bounded_all_the_same() {
    let states: serde_json::Map<_, _> = (0..2000).map(|n| (format!("s{n}"), json!({}))).collect();
    let error = load_stored(&json!({"id": "m", "initial": "s0", "states": states})).unwrap_err();
    assert_eq!(error.findings[0].code, "too-many-states");
}

#[test]
fn the_definition_is_kept_as_it_was_given() {
    let machine = machine("id: m\ninitial: a\nstates: {a: {type: final}}\nmeta: {z: 1, a: 2}\n");
    assert_eq!(machine.definition["meta"].to_string(), r#"{"z":1,"a":2}"#);
}

/// Names that were accepted before names had rules: too long, unprintable, too many.
fn unruly() -> Vec<Value> {
    let action = |changed: Value| {
        let mut action = json!({"actionId": "x", "type": "noop", "triggerState": "a"});
        for (name, value) in changed.as_object().unwrap() {
            action[name] = value.clone();
        }
        json!({"id": "m", "initial": "a", "states": {"a": {}}, "actions": [action]})
    };
    let long = "x".repeat(20_000);
    let tags: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    vec![
        json!({"id": "m", "initial": "a", "states": {"a": {}, "b\n": {"type": "final"}}}),
        json!({"id": "m", "initial": "a", "states": {"a": {"on": {"GO\u{202e}": "a"}}}}),
        json!({"id": "m", "initial": "a", "states": {"a": {"tags": tags}}}),
        json!({"id": "m", "initial": "a", "tags": [long], "states": {"a": {}}}),
        action(json!({"actionId": long})),
        action(json!({"type": "no\u{1b}op"})),
        action(json!({"runner": long})),
        action(json!({"tags": long})),
        action(json!({"tags": ["a\tb"]})),
        action(json!({"tags": tags})),
        action(json!({"limits": [{"key": long, "concurrency": 1}]})),
    ]
}

#[test]
fn names_that_break_a_rule_are_refused_when_applied_and_run_on_when_stored() {
    for definition in unruly() {
        let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
        assert!(loaded.machine.is_none(), "{definition}");
        let codes: Vec<_> = loaded.findings.iter().map(|finding| finding.code).collect();
        let is_named = |code: &&str| ["bad-name", "too-many-tags", "bad-limit"].contains(code);
        assert!(codes.iter().any(is_named), "{codes:?}");
        for finding in &loaded.findings {
            assert!(finding.detail.len() < 500, "{finding:?}");
            assert!(finding.detail.chars().all(is_printable), "{finding:?}");
        }
        assert!(load_stored(&definition).is_ok(), "{definition}");
    }
}
