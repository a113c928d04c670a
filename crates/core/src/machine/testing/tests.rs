//! Test files: both kinds of tests in one, and files that were written when each kind had a format of its own.

use super::*;
use crate::document::Finding;
use crate::document::source::Format;

fn read(text: &str) -> Result<TestFile, Vec<Finding>> {
    TestFile::read(text, Format::Yaml)
}

/// `scenario` or the id of the tested action, for every test.
fn kinds(text: &str) -> Vec<String> {
    let file = read(text).unwrap_or_else(|found| panic!("{found:?}"));
    let kind = |test: &Test| match test {
        Test::Scenario(_) => "scenario".to_owned(),
        Test::Action(case) => match &case.target {
            Target::Action { action_id, .. } => action_id.clone(),
            Target::Definition { document, .. } => document.value["actionId"].to_string(),
        },
    };
    file.tests.iter().map(kind).collect()
}

/// `line:column code` of everything that is wrong.
fn wrong(text: &str) -> Vec<String> {
    let found = read(text).unwrap_err();
    let place = |finding: &Finding| format!("{}:{} {}", finding.line, finding.column, finding.code);
    found.iter().map(place).collect()
}

#[test]
fn a_file_of_scenarios_still_loads() {
    let found = kinds(include_str!("fixtures/scenarios.yaml"));
    assert!(
        !found.is_empty() && found.iter().all(|kind| kind == "scenario"),
        "{found:?}"
    );
}

#[test]
fn files_of_action_tests_still_load() {
    let alone = kinds(include_str!("fixtures/action.yaml"));
    assert!(
        !alone.is_empty() && alone.iter().all(|kind| kind != "scenario"),
        "{alone:?}"
    );
    let within = kinds(include_str!("fixtures/action-of-machine.yaml"));
    assert!(
        !within.is_empty() && within.iter().all(|kind| kind != "scenario"),
        "{within:?}"
    );
}

#[test]
fn one_file_tests_a_machine_and_its_actions() {
    let text = "machine: m.yaml\ntests:\n- { name: a, steps: [{ send: GO }] }\n- { name: b, actionId: pay, mock: { status: 503 } }\n\
                - { name: c, then: { status: running } }\n- { name: d, actionId: tell }\n- { name: e }\n";
    assert_eq!(kinds(text), ["scenario", "pay", "scenario", "tell", "scenario"]);
    let of_one_action = text.replace("machine: m.yaml\n", "machine: m.yaml\nactionId: pay\n");
    assert_eq!(kinds(&of_one_action), ["scenario", "pay", "scenario", "tell", "pay"]);
}

#[test]
fn what_belongs_to_the_other_kind_of_test_is_refused() {
    let test = |test: &str| wrong(&format!("machine: m.yaml\ntests:\n- {test}\n"));
    assert_eq!(test("{ name: a, expect: { status: dead } }"), ["3:14 bad-test"]);
    assert_eq!(test("{ name: a, actionId: x, steps: [] }"), ["3:27 bad-test"]);
    assert_eq!(
        wrong("action: { actionId: a, type: noop }\ntests:\n- { name: a, steps: [] }\n"),
        ["3:3 bad-test"]
    );
    assert_eq!(
        wrong("action: { actionId: a, type: noop }\ntests:\n- { name: a, actionId: b }\n"),
        ["3:14 bad-test"]
    );
    assert_eq!(
        wrong("machine: m.yaml\ntests: []\nscenarios: []\n"),
        ["3:1 given-twice"]
    );
    assert_eq!(wrong("machine: m.yaml\ntests: []\n"), ["1:1 no-tests"]);
}
