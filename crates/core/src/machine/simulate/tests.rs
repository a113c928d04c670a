//! Lines of simulations, as they are printed.

use serde_json::{Map, Value, json};

use super::*;
use crate::machine::{LoadOptions, load_text};
use crate::source::Format;
use crate::time::Timestamp;

const LEASE: &str = r"
id: lease
variables: { currency: EUR }
initial: awaiting
states:
  awaiting:
    on:
      NOTICE:
        - { target: received, guard: { '>=': [ { var: message.payload.days }, 30 ] }, assign: { days: '{{message.payload.days}}' } }
        - target: rejected
  received: { on: { done.tell: signed, failed.tell: review }, after: { 3d: review } }
  review: { after: { 1h: rejected }, on: { BAD: { target: signed, assign: { x: '{{variables.nothing}}' } } } }
  signed: { type: final, output: { days: '{{variables.days}}' } }
  rejected: { type: final }
actions: [{ actionId: tell, type: noop, triggerState: received, config: {} }]
";

fn run(inputs: &[&str]) -> Vec<Value> {
    let machine = load_text(LEASE, Format::Yaml, &LoadOptions::default()).machine.unwrap();
    let now = Timestamp::from_millis(0);
    let (mut simulation, first) = Simulation::start(machine.into(), Map::new(), None, now);
    let mut lines = vec![json!(first)];
    for input in inputs {
        let input = if input.starts_with('{') { SimInput::from_line(input) } else { SimInput::from_argument(input) };
        lines.push(json!(simulation.feed(input.unwrap())));
    }
    lines
}

#[test]
fn the_first_line_is_the_initial_state_and_each_input_has_one_of_its_own() {
    let lines = run(&[r#"NOTICE={"days": 30}"#, r#"{"outcome": "tell", "success": true}"#]);
    let given = json!({ "currency": "EUR" });
    let assigned = json!({ "currency": "EUR", "days": 30 });
    assert_eq!(
        lines,
        [
            json!({ "event": null, "configuration": ["awaiting"], "handled": true, "actions": [], "variables": given }),
            json!({ "event": "NOTICE", "configuration": ["received"], "handled": true, "actions": ["tell"], "variables": assigned }),
            json!({ "event": "done.tell", "configuration": ["signed"], "handled": true, "actions": [], "variables": assigned }),
        ]
    );
}

#[test]
fn an_advance_fires_every_timer_on_its_way_in_one_line() {
    let lines = run(&[r#"NOTICE={"days": 30}"#, r#"{"advance": "3d"}"#, r#"{"advance": "59m"}"#, r#"{"advance": "1m"}"#]);
    let at = |index: usize| (lines[index]["configuration"][0].clone(), lines[index]["handled"].clone());
    assert_eq!(at(2), (json!("review"), json!(true)));
    assert_eq!(at(3), (json!("review"), json!(false)));
    assert_eq!(at(4), (json!("rejected"), json!(true)));
    let chained = run(&[r#"NOTICE={"days": 30}"#, r#"{"advance": "4d"}"#]);
    assert_eq!(chained[2]["configuration"], json!(["rejected"]), "a chain of timers within one advance");
}

#[test]
fn a_refused_input_says_so_and_the_run_goes_on() {
    let lines = run(&["done.tell", r#"{"outcome": "tell"}"#, "NOTICE={\"days\": 31}", "HUH", r#"{"advance": "3d"}"#, "BAD", r#"{"advance": "1h"}"#, "HUH"]);
    let error = |index: usize| lines[index]["error"].as_str().map(str::to_owned);
    assert_eq!(error(1).as_deref(), Some("reserved-type"));
    assert_eq!(error(2).as_deref(), Some("action-unknown"));
    assert_eq!(lines[3]["configuration"], json!(["received"]));
    assert_eq!((error(4), &lines[4]["handled"]), (None, &json!(false)), "unhandled is not refused");
    assert_eq!(error(6).as_deref(), Some("decision-failed"));
    assert_eq!(lines[6]["configuration"], json!(["review"]));
    assert_eq!(error(8).as_deref(), Some("execution-closed"));
    assert_eq!(lines[8]["configuration"], json!(["rejected"]), "a completed machine keeps its final state");
}

#[test]
fn inputs_that_are_none_are_refused_with_what_would_be() {
    for text in ["[1]", "{\"typo\": 1}", "{\"advance\": \"soon\"}", "{", "{}"] {
        let error = SimInput::from_line(text).unwrap_err().to_string();
        assert!(error.len() > 10, "{text}: {error}");
    }
    assert!(SimInput::from_argument("GO={").is_err());
}
