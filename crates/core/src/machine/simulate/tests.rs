//! Lines of simulations, as they are printed.

use serde_json::{Map, Value, json};

use super::*;
use crate::document::source::Format;
use crate::machine::{LoadOptions, load_text};
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

/// All lines of a run. An input is an argument, or a JSON object.
fn simulate(text: &str, inputs: &[&str]) -> Vec<Value> {
    let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
    let machine = loaded.machine.unwrap_or_else(|| panic!("{:#?}", loaded.findings));
    let (mut simulation, first) = Simulation::start(machine.into(), Map::new(), None, Timestamp::from_millis(0));
    let mut lines = vec![json!(first)];
    for input in inputs {
        let input = if input.starts_with('{') {
            SimInput::from_line(input)
        } else {
            SimInput::from_argument(input)
        };
        lines.push(json!(simulation.feed(input.unwrap())));
    }
    lines
}

/// One member of every line, as a table.
fn column(lines: &[Value], name: &str) -> Vec<Value> {
    lines.iter().map(|line| line[name].clone()).collect()
}

/// The same for the lease.
fn run(inputs: &[&str]) -> Vec<Value> {
    simulate(LEASE, inputs)
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
            json!({ "event": "done.tell", "configuration": ["signed"], "handled": true, "actions": [], "variables": assigned, "output": { "days": 30 } }),
        ]
    );
}

#[test]
fn an_advance_fires_every_timer_on_its_way_in_one_line() {
    let lines = run(&[
        r#"NOTICE={"days": 30}"#,
        r#"{"advance": "3d"}"#,
        r#"{"advance": "59m"}"#,
        r#"{"advance": "1m"}"#,
    ]);
    let at = |index: usize| {
        (
            lines[index]["configuration"][0].clone(),
            lines[index]["handled"].clone(),
        )
    };
    assert_eq!(at(2), (json!("review"), json!(true)));
    assert_eq!(at(3), (json!("review"), json!(false)));
    assert_eq!(at(4), (json!("rejected"), json!(true)));
    let chained = run(&[r#"NOTICE={"days": 30}"#, r#"{"advance": "4d"}"#]);
    assert_eq!(
        chained[2]["configuration"],
        json!(["rejected"]),
        "a chain of timers within one advance"
    );
}

#[test]
fn a_refused_input_says_so_and_the_run_goes_on() {
    let lines = run(&[
        r#"{"type": "done.tell"}"#,
        "done.tell",
        "NOTICE={\"days\": 31}",
        "HUH",
        r#"{"advance": "3d"}"#,
        "BAD",
        r#"{"advance": "1h"}"#,
        "HUH",
    ]);
    let error = |index: usize| lines[index]["error"].as_str().map(str::to_owned);
    assert_eq!(error(1).as_deref(), Some("reserved-type"));
    assert_eq!(error(2).as_deref(), Some("action-unknown"));
    assert_eq!(
        lines[2]["detail"],
        "action `tell` is not open; no action waits for an outcome"
    );
    assert_eq!(lines[3]["configuration"], json!(["received"]));
    assert_eq!(
        (error(4), &lines[4]["handled"]),
        (None, &json!(false)),
        "unhandled is not refused"
    );
    assert_eq!(error(6).as_deref(), Some("decision-failed"));
    assert!(
        lines[6]["detail"].as_str().is_some_and(|detail| !detail.is_empty()),
        "{}",
        lines[6]
    );
    assert_eq!(lines[6]["configuration"], json!(["review"]));
    assert_eq!(error(8).as_deref(), Some("execution-closed"));
    assert_eq!(
        lines[8]["configuration"],
        json!(["rejected"]),
        "a completed machine keeps its final state"
    );
}

#[test]
fn inputs_that_are_none_are_refused_with_what_would_be() {
    for text in ["[1]", "{\"typo\": 1}", "{\"advance\": \"soon\"}", "{", "{}"] {
        let error = SimInput::from_line(text).unwrap_err().to_string();
        assert!(error.len() > 10, "{text}: {error}");
    }
    assert!(SimInput::from_argument("GO={").is_err());
}

#[test]
fn the_outcome_is_that_of_the_latest_trigger() {
    let machine = "
id: m
initial: a
states:
  a: { on: { GO: b } }
  b: { on: { AGAIN: { target: b, reenter: true }, done.x: c, failed.x: a } }
  c: {}
actions: [{ actionId: x, type: noop, triggerState: b }]
";
    let lines = simulate(
        machine,
        &[
            "GO",
            "AGAIN",
            r#"{"outcome": "x"}"#,
            r#"{"outcome": "x"}"#,
            r#"{"outcome": "x"}"#,
        ],
    );
    assert_eq!(
        column(&lines[3..], "configuration"),
        [json!(["c"]), json!(["c"]), json!(["c"])]
    );
    assert_eq!(column(&lines[3..], "handled"), [true, false, false]);
    assert_eq!(
        column(&lines[3..], "error"),
        [Value::Null, Value::Null, json!("action-unknown")]
    );
}

#[test]
fn a_start_that_errs_is_refused_and_nothing_after_it_is_taken() {
    let machine = "
id: m
initial: a
states: { a: { entry: { assign: { x: '{{variables.nothing}}' } }, after: { 1s: b } }, b: {} }
";
    let lines = simulate(machine, &["GO", r#"{"advance": "1s"}"#]);
    assert_eq!(column(&lines, "configuration"), [json!([]), json!([]), json!([])]);
    assert_eq!(
        column(&lines, "error"),
        ["decision-failed", "execution-unknown", "execution-unknown"]
    );
    assert_eq!(column(&lines, "handled"), [false, false, false]);
}

#[test]
fn actions_that_are_over_at_once_end_in_the_same_line() {
    let machine = "
id: m
initial: a
states:
  a: { on: { GO: b } }
  b: { on: { failed.dead: c } }
  c: { on: { skipped.never: d } }
  d: {}
actions:
  - { actionId: dead, type: noop, triggerState: b, config: { x: '{{variables.nothing}}' } }
  - { actionId: never, type: noop, triggerState: c, condition: false }
  - { actionId: fine, type: noop, triggerState: d }
  - { actionId: nap, type: wait, triggerState: a, config: { seconds: '{{ -1 }}' } }
";
    let lines = simulate(machine, &["GO"]);
    assert_eq!(lines[1]["configuration"], json!(["d"]));
    assert_eq!(lines[1]["actions"], json!(["fine"]), "only what would run");
    assert_eq!(lines[0]["actions"], json!([]), "a wait of less than nothing is dead");
}

#[test]
fn what_an_input_sets_off_may_fail_while_the_input_is_taken() {
    let machine = "
id: m
initial: a
states:
  a: { on: { GO: b } }
  b:
    on: { failed.dead: { target: a, assign: { x: '{{variables.nothing}}' } } }
    after: { 1s: { target: a, assign: { x: '{{variables.nothing}}' } }, 2s: c }
  c: {}
actions: [{ actionId: dead, type: noop, triggerState: b, config: { x: '{{variables.nothing}}' } }]
";
    let lines = simulate(machine, &["GO", r#"{"advance": "3s"}"#]);
    assert_eq!(
        column(&lines, "configuration"),
        [json!(["a"]), json!(["b"]), json!(["c"])]
    );
    assert_eq!(column(&lines, "handled"), [true, true, true]);
    assert_eq!(
        column(&lines, "error"),
        [Value::Null, json!("decision-failed"), json!("decision-failed")]
    );
}

#[test]
fn an_outcome_whose_decision_fails_can_be_given_again() {
    let machine = "
id: m
initial: a
states:
  a: { on: { FIX: { assign: { y: 1 } }, done.x: { target: b, assign: { x: '{{variables.y}}' } } } }
  b: {}
actions: [{ actionId: x, type: noop, triggerState: a }]
";
    let done = r#"{"outcome": "x"}"#;
    let lines = simulate(machine, &[done, "FIX", done]);
    assert_eq!(lines[1]["error"], "decision-failed");
    assert_eq!(
        column(&lines, "configuration"),
        [json!(["a"]), json!(["a"]), json!(["a"]), json!(["b"])]
    );
}

#[test]
fn timers_due_at_once_fire_before_the_next_input() {
    let machine = "
id: m
initial: a
states: { a: { after: { 0: b }, on: { GO: wrong } }, b: { on: { GO: c } }, c: {}, wrong: {} }
";
    let lines = simulate(machine, &["GO"]);
    assert_eq!(column(&lines, "configuration"), [json!(["a"]), json!(["c"])]);
}

#[test]
fn a_machine_that_never_rests_is_cut_off_and_can_go_on() {
    let machine = "
id: m
variables: { n: 0 }
initial: a
states: { a: { after: { 1ms: { target: a, reenter: true, assign: { n: '{{variables.n + 1}}' } } } } }
";
    let advance = r#"{"advance": 15000}"#;
    let lines = simulate(machine, &[advance, r#"{"advance": 5000}"#]);
    assert_eq!(lines[1]["error"], "runaway");
    assert_eq!(lines[1]["variables"]["n"], 10_000);
    assert_eq!(lines[2]["variables"]["n"], 15_000, "the clock stood where it stopped");
    assert_eq!(lines[2].get("error"), None);
}

#[test]
fn a_schedule_fires_while_its_state_lasts_and_each_occurrence_finds_the_last_one_ended() {
    let machine = "
id: m
variables: { heard: 0 }
initial: a
states:
  a: { on: { STOP: b, done.tick: { assign: { heard: '{{variables.heard + 1}}' } } } }
  b: {}
actions: [{ actionId: tick, type: noop, triggerState: a, schedule: '* * * * *' }]
";
    let (minutes, done) = (r#"{"advance": "3m"}"#, r#"{"outcome": "tick"}"#);
    let lines = simulate(machine, &[minutes, done, done, minutes, "STOP", minutes]);
    let counts = lines.iter().map(|line| line["actions"].as_array().map_or(0, Vec::len));
    assert_eq!(counts.collect::<Vec<_>>(), [0, 3, 0, 0, 3, 0, 0]);
    assert_eq!(
        column(&lines[2..4], "handled"),
        [true, false],
        "only the latest is heard of"
    );
    assert_eq!(lines[6]["variables"], json!({ "heard": 1 }));
}

#[test]
fn leaving_a_state_cancels_what_is_not_due() {
    let machine = |extra: &str| {
        format!(
            "
id: m
initial: a
states: {{ a: {{ on: {{ GO: b }} }}, b: {{ on: {{ done.x: c }} }}, c: {{}} }}
actions: [{{ actionId: x, type: noop, triggerState: a, {extra} }}]
"
        )
    };
    let done = r#"{"outcome": "x"}"#;
    let table = [
        ("delay: 1m", &["GO", done][..], "b"),
        ("delay: 1m", &[r#"{"advance": "1m"}"#, "GO", done], "c"),
        ("delay: 1m, keepOnExit: true", &["GO", done], "c"),
        ("delay: 0", &["GO", done], "c"),
        ("cancelOnExit: true", &["GO", done], "b"),
    ];
    for (extra, inputs, expected) in table {
        let lines = simulate(&machine(extra), inputs);
        let last = lines.last().unwrap();
        assert_eq!(last["configuration"], json!([expected]), "{extra}: {last}");
    }
}

#[test]
fn an_outcome_is_also_known_by_its_runner_s_word() {
    let machine = "
id: m
initial: a
states:
  a: { on: { email_sent: { target: b, assign: { id: '{{event.payload.messageId}}', of: '{{event.payload.actionId}}' } } } }
  b: { on: { failed.call: { target: c, assign: { why: '{{event.error.type}}: {{event.error.message}}' } } } }
  c: {}
actions:
  - { actionId: mail, type: email, triggerState: a }
  - { actionId: call, type: webhook, triggerState: b }
";
    let mail = r#"{"outcome": "mail", "result": {"messageId": "7"}}"#;
    let call = r#"{"outcome": "call", "error": {"type": "timeout", "message": "too slow"}}"#;
    let lines = simulate(machine, &[mail, call]);
    assert_eq!(lines[2]["event"], "failed.call");
    assert_eq!(
        lines[2]["variables"],
        json!({ "id": "7", "of": "mail", "why": "timeout: too slow" })
    );
}

#[test]
fn a_completed_machine_hears_nothing_more() {
    let machine = "
id: m
initial: a
states: { a: { on: { GO: z }, after: { 1m: a } }, z: { type: final } }
actions: [{ actionId: last, type: noop, triggerState: z }]
";
    let lines = simulate(machine, &["GO", r#"{"advance": "1h"}"#, r#"{"outcome": "last"}"#, "GO"]);
    assert_eq!(lines[1]["actions"], json!(["last"]));
    assert_eq!(column(&lines[2..], "handled"), [false, false, false]);
    assert_eq!(
        column(&lines[2..], "error"),
        [Value::Null, Value::Null, json!("execution-closed")]
    );
    assert_eq!(column(&lines[1..], "configuration"), vec![json!(["z"]); 4]);
}

#[test]
fn an_input_says_what_it_is_in_one_way() {
    let refused = [
        (
            r#"{"type": "GO", "advance": "5m"}"#,
            "`type` is not known beside `advance`; remove it",
        ),
        (
            r#"{"type": "GO", "paylod": 1}"#,
            "`paylod` is not known beside `type`; did you mean `payload`?",
        ),
        (
            r#"{"typ": "GO"}"#,
            "`typ` is not known beside `type`; did you mean `type`?",
        ),
        (r#"{"type": 5}"#, "`type` must be text"),
        (
            r#"{"outcome": "x", "success": "yes"}"#,
            "`success` must be `true` or `false`",
        ),
        (
            r#"{"outcome": "x", "success": true, "error": {}}"#,
            "`error` must be left out of a success",
        ),
        (r#"{"outcome": ["x"]}"#, "`outcome` must be text"),
    ];
    for (text, expected) in refused {
        assert_eq!(SimInput::from_line(text).unwrap_err().to_string(), expected);
    }
    let given = SimInput::from_line(r#"{"outcome": "x", "success": false, "result": {"type": "t"}}"#).unwrap();
    let result = json!({ "type": "t" });
    assert_eq!(
        given,
        SimInput::Outcome {
            action: "x".into(),
            success: false,
            result
        }
    );
    assert!(SimInput::from_argument("A=1=2").is_err());
    let payload = json!("b=c");
    assert_eq!(
        SimInput::from_argument(r#"A="b=c""#),
        Ok(SimInput::Message {
            kind: "A".into(),
            payload
        })
    );
}

#[test]
fn a_type_that_no_message_can_have_is_refused() {
    let lines = run(&["", "sprag.start", "after.3d.x"]);
    assert_eq!(
        column(&lines[1..], "error"),
        ["name-invalid", "reserved-type", "reserved-type"]
    );
}
