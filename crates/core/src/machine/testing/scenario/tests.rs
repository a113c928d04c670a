//! Scenarios that pass, that fail, and files that are no scenarios.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::document::Finding;
use crate::document::source::Format;
use crate::machine::testing::{Test, TestFile};
use crate::machine::{LoadOptions, Machine, load_text};

const MACHINE: &str = r"
id: m
variables: { tries: 0 }
initial: idle
states:
  idle: { on: { GO: { target: trying, assign: { n: '{{message.payload.n}}' } } } }
  trying:
    on:
      done.try_it: { target: resting, assign: { got: '{{event.result.x}}' } }
      failed.try_it: { target: trying, reenter: true, assign: { tries: '{{variables.tries + 1}}' } }
  resting: { after: { 1h: later } }
  later: { on: { done.tell: over }, after: { 1d: idle } }
  over: { type: final, output: { got: '{{variables.got}}' } }
actions:
  - { actionId: try_it, type: noop, triggerState: trying, config: {} }
  - { actionId: tell, type: noop, triggerState: later, delay: 10m, config: {} }
";

fn machine() -> Arc<Machine> {
    let loaded = load_text(MACHINE, Format::Yaml, &LoadOptions::default());
    Arc::new(loaded.machine.unwrap_or_else(|| panic!("{:?}", loaded.findings)))
}

fn read(scenarios: &str) -> Result<Vec<Scenario>, Vec<Finding>> {
    let file = TestFile::read(&format!("machine: m.yaml\nscenarios:\n{scenarios}"), Format::Yaml)?;
    let scenarios = file.tests.into_iter().map(|test| match test {
        Test::Scenario(scenario) => *scenario,
        Test::Action(case) => panic!("{case:?}"),
    });
    Ok(scenarios.collect())
}

fn check(scenarios: &[Scenario]) -> Vec<Finding> {
    let machine = machine();
    scenarios.iter().flat_map(|scenario| scenario.check(&machine)).collect()
}

fn reports(scenarios: &str) -> Vec<Report> {
    let (scenarios, machine) = (read(scenarios).unwrap(), machine());
    assert_eq!(check(&scenarios), []);
    scenarios
        .iter()
        .map(|scenario| run_scenario(scenario, &machine))
        .collect()
}

fn sentences(scenario: &str) -> Vec<String> {
    let reports = reports(scenario);
    reports
        .iter()
        .flat_map(|report| &report.mismatches)
        .map(Mismatch::sentence)
        .collect()
}

#[test]
fn mocked_actions_end_when_they_are_due_and_the_clock_stops_on_the_way() {
    let found = sentences(
        "
- name: all the way
  given:
    variables: { got: 0 }
    mocks: { try_it: [{ success: false }, { success: false }, { result: { x: 7 } }], tell: {} }
  when:
    - { send: GO, payload: { n: 3 }, expect: { configuration: resting, actions: [try_it, try_it, try_it], variables: { tries: 2, n: 3 } } }
    - { advance: 59m, expect: { configuration: [resting], handled: false, status: running } }
    - { advance: 2h, expect: { handled: true, actions: tell } }
  then: { status: completed, output: { got: 7 }, configuration: over, actions: [try_it, try_it, try_it, tell] }
",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn without_a_mock_an_action_waits_for_its_outcome() {
    let found = sentences(
        "
- name: by hand
  steps:
    - { send: GO, payload: { n: 1 }, expect: { configuration: trying, handled: true } }
    - { outcome: try_it, success: false, expect: { configuration: trying, actions: try_it } }
    - { outcome: try_it, result: { x: 1 } }
  then: { configuration: resting, variables: { got: 1, tries: 1 } }
",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_difference_is_reported_with_its_step_and_place() {
    let reports = reports(
        "- name: wrong
  steps:
    - { send: GO, payload: { n: 1 } }
    - send: GO
      expect: { configuration: over, variables: { n: 2, m: 1 }, handled: true, status: completed, output: 1, error: no }
  then: { actions: [] }
- { name: right, then: { configuration: idle } }
",
    );
    let found: Vec<String> = reports[0].mismatches.iter().map(Mismatch::sentence).collect();
    let expected = [
        "step 2 (GO): configuration is [\"trying\"], expected [\"over\"]",
        "step 2 (GO): variables.n is 1, expected 2",
        "step 2 (GO): variables.m is nothing, expected 1",
        "step 2 (GO): handled is false, expected true",
        "step 2 (GO): status is \"running\", expected \"completed\"",
        "step 2 (GO): output is nothing, expected 1",
        "step 2 (GO): error is nothing, expected \"no\"",
        "then: actions is [\"try_it\"], expected []",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        (
            reports[0].mismatches[0].unmet.line,
            reports[0].mismatches[0].unmet.column
        ),
        (7, 15)
    );
    assert_eq!(
        (reports[0].passed, reports[1].passed, reports[1].line),
        (false, true, 9)
    );
    assert_eq!(json!(reports[1])["mismatches"], json!([]));
}

#[test]
fn a_refusal_nobody_expects_is_a_difference() {
    let found = sentences("- { name: a, steps: [{ send: GO }, { send: HUH }] }\n");
    assert_eq!(found, ["step 1 (GO): error is \"decision-failed\", expected nothing"]);
    let expected = "- { name: a, steps: [{ send: GO, expect: { error: decision-failed } }] }\n";
    assert_eq!(sentences(expected), Vec::<String>::new());
    let at_the_end = "- { name: a, when: [{ send: GO }], then: { error: decision-failed, configuration: idle } }\n";
    assert_eq!(sentences(at_the_end), Vec::<String>::new());
}

#[test]
fn a_machine_that_never_rests_ends_its_step() {
    let found =
        sentences("- { name: a, mocks: { try_it: { success: false } }, steps: [{ send: GO, payload: { n: 1 } }] }\n");
    assert_eq!(found, ["step 1 (GO): error is \"runaway\", expected nothing"]);
}

fn findings(scenarios: &str) -> Vec<(&'static str, u32, u32, String)> {
    let found = read(scenarios).map_or_else(|found| found, |scenarios| check(&scenarios));
    found
        .into_iter()
        .map(|found| (found.code, found.line, found.column, found.remedy))
        .collect()
}

#[test]
fn what_is_misspelled_is_named_with_its_place_and_the_nearest_name() {
    let cases = [
        (
            "- { name: a, step: [] }\n",
            ("unknown-key", 3, 14, "did you mean `steps`?"),
        ),
        (
            "- { name: a, then: { status: complete } }\n",
            ("bad-value", 3, 30, "did you mean `completed`?"),
        ),
        (
            "- { name: a, then: { configuration: overr } }\n",
            ("unknown-state", 3, 20, "did you mean `over`?"),
        ),
        (
            "- { name: a, mocks: { tryit: {} } }\n",
            ("unknown-action", 3, 30, "did you mean `try_it`?"),
        ),
        (
            "- { name: a, steps: [{ outcome: tel }] }\n",
            ("unknown-action", 3, 22, "did you mean `tell`?"),
        ),
        (
            "- { name: a, steps: [{ advance: 5m, payload: 1 }] }\n",
            ("bad-step", 3, 46, "remove it"),
        ),
        (
            "- { name: a, now: soon }\n",
            ("bad-value", 3, 19, "write it like `2026-01-31T12:00:00Z`"),
        ),
        (
            "- { name: a, key: a, given: { key: b } }\n",
            ("given-twice", 3, 36, "keep one of them"),
        ),
    ];
    for (text, (code, line, column, remedy)) in cases {
        assert_eq!(findings(text), [(code, line, column, remedy.to_owned())], "{text}");
    }
    let steps = findings("- { name: a, steps: [{}, { send: A, advance: 1s }, { advance: soon }] }\n");
    assert_eq!(steps.iter().map(|found| found.0).collect::<Vec<_>>(), ["bad-duration"]);
    let steps = findings("- { name: a, steps: [{}, { send: A, advance: 1s }] }\n");
    assert_eq!(
        steps.iter().map(|found| found.0).collect::<Vec<_>>(),
        ["bad-step", "bad-step"]
    );
    assert_eq!(findings("- [\n").first().map(|found| found.0), Some("not-parsed"));
}
