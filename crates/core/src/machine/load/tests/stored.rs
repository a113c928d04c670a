//! Definitions that were applied once.

use serde_json::json;

use super::accepted::EVERYTHING;
use super::machine;
use crate::machine::load::{LoadOptions, load_stored, load_text};
use crate::source::Format;

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
