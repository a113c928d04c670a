//! What expressions see, what they leave behind, and what their errors undo.

use serde_json::{Value, json};

use super::{Bench, Limits};
use crate::machine::{How, RESULT_KEPT_BYTES, StepError};

#[test]
fn the_context_has_what_the_design_promises() {
    let text = "
id: shop
initial: a
variables: { x: { y: [ 5, 6 ] } }
states:
  a:
    on:
      LOOK:
        target: b
        assign:
          seen:
            - '{{execution.machine}}/{{execution.key}}/{{execution.version}}/{{execution.state}}'
            - '{{variables.x.y.1}}'
            - '{{execution.variables.x}}'
            - '{{event.type}}: {{event.payload.q}}'
            - '{{message.id}} {{message.type}} {{message.payload.q}}'
            - '{{currentState}}'
            - '{{previousState}}'
            - '{{now}}'
  b: { on: { AGAIN: { assign: { seen: '{{execution.state}} {{previousState}}' } } } }
";
    let mut bench = Bench::start(text);
    bench.send_with("LOOK", json!({"q": 7})).unwrap();
    // When the transition acts, `a` has been left and `b` is not entered yet: no atomic state is active.
    let expected =
        json!(["shop/k/3/[]", 6, {"y": [5, 6]}, "LOOK: 7", "1 LOOK 7", "a", "a", "2023-11-14T22:13:20.000Z"]);
    assert_eq!(bench.variable("seen"), expected);
    bench.send("AGAIN").unwrap();
    assert_eq!(bench.variable("seen"), "b b");
}

#[test]
fn an_error_in_a_guard_an_assignment_a_raise_or_an_output_discards_the_macrostep() {
    let table = [
        (
            "assign",
            "X: { target: b, assign: { v: '{{message.payload.none}}' } }",
            "",
        ),
        (
            "raise",
            "X: { target: b, actions: { raise: { type: E, payload: '{{message.payload.none}}' } } }",
            "",
        ),
        ("output", "X: b", ", output: '{{message.payload.none}}'"),
        (
            "assign",
            "X: b",
            ", entry: { assign: { v: '{{message.payload.none}}' } }",
        ),
    ];
    for (part, on, end) in table {
        let text = format!("id: m\ninitial: a\nstates: {{ a: {{ on: {{ {on} }} }}, b: {{ type: final{end} }} }}\n");
        let mut bench = Bench::start(&text);
        let before = bench.execution.clone();
        match bench.send("X").unwrap_err() {
            StepError::Expression {
                part: found, detail, ..
            } => {
                assert_eq!(found, part, "{text}");
                assert!(detail.contains("message.payload.none"), "{detail}");
            }
            other => panic!("{other}"),
        }
        assert_eq!(bench.execution, before, "the message itself is forgotten too");
    }
}

#[test]
fn a_guard_that_takes_too_long_discards_the_macrostep() {
    let text = "
id: m
initial: a
states: { a: { on: { X: { target: b, guard: { all: [ { var: variables.rows }, { all: [ { var: '' }, { '<': [ { var: '' }, 9 ] } ] } ] } } } }, b: {} }
";
    let rows = vec![vec![1; 300]; 300];
    let mut bench = Bench::start_with(text, &json!({ "rows": rows })).unwrap();
    let error = bench.send("X").unwrap_err();
    assert!(matches!(error, StepError::Expression { part: "guard", .. }), "{error}");
    assert_eq!(bench.states(), "a");
}

#[test]
fn a_start_that_errs_starts_nothing() {
    let text = "id: m\ninitial: a\nstates: { a: { entry: { assign: { v: '{{variables.given}}' } } } }\n";
    assert!(Bench::start_with(text, &json!({})).is_err());
    assert!(Bench::start_with(text, &json!({"given": 1})).is_ok());
}

#[test]
fn a_log_line_never_stands_in_the_way() {
    let text = "id: m\ninitial: a\nstates: { a: { entry: [ { log: '{{variables.none}}' }, { log: { n: 1 } } ] } }\n";
    let mut bench = Bench::start(text);
    let log = bench.log();
    assert!(log.contains("variables.none") && log.ends_with("{\"n\":1}"), "{log}");
}

#[test]
fn the_output_of_the_last_state_or_of_the_machine_is_what_an_execution_gives() {
    let states =
        "initial: a\nstates: { a: { on: { X: z } }, z: { type: final, output: { n: '{{message.payload}}' } } }\n";
    let mut bench = Bench::start(&format!("id: m\n{states}"));
    bench.send_with("X", json!(4)).unwrap();
    assert_eq!(bench.completed, Some(json!({"n": 4})));
    let mut bench = Bench::start(&format!("id: m\noutput: whole\n{states}"));
    bench.send_with("X", json!(4)).unwrap();
    assert_eq!(bench.completed, Some(json!("whole")));
}

#[test]
fn the_output_of_an_inner_final_state_is_the_payload_of_its_event() {
    let text = "
id: m
initial: a
states:
  a: { initial: x, states: { x: { type: final, output: { n: 1 } } }, onDone: { target: b, assign: { n: '{{event.payload.n}}' } } }
  b: {}
";
    assert_eq!(Bench::start(text).variable("n"), 1);
}

#[test]
fn variables_and_results_together_are_bounded() {
    let text = "id: m\ninitial: a\nstates: { a: { on: { X: { assign: { big: '{{message.payload}}' } } } } }\n";
    let mut bench = Bench::start(text);
    bench.limits = Limits {
        variables_bytes: 100,
        ..Limits::default()
    };
    bench.send_with("X", json!("x".repeat(50))).unwrap();
    let error = bench.send_with("X", json!("x".repeat(200))).unwrap_err();
    assert_eq!(error.code(), "variables-too-large");
    assert_eq!(bench.variable("big"), "x".repeat(50));
}

#[test]
fn results_are_kept_for_actions_that_are_named_and_cut_when_they_are_large() {
    let text = "
id: m
initial: a
states: { a: { on: { 'done.*': { assign: { got: '{{results.one}}' } } } } }
actions:
  - { actionId: one, type: t, triggerState: a }
  - { actionId: two, type: t, triggerState: a }
";
    let mut bench = Bench::start(text);
    bench.end("one", How::Done, json!({"n": 1})).unwrap();
    assert_eq!(
        bench.variable("got"),
        json!({"success": true, "result": {"n": 1}, "error": null})
    );
    bench.end("two", How::Done, json!({"n": 2})).unwrap();
    assert_eq!(bench.execution.results.len(), 1, "nobody names the results of `two`");
    bench
        .end("one", How::Done, json!("x".repeat(RESULT_KEPT_BYTES)))
        .unwrap();
    let kept = &bench.execution.results["one"];
    assert_eq!(
        (&kept["success"], &kept["result"]),
        (&json!(true), &json!({"data": null, "truncated": true}))
    );
    bench.end("one", How::Failed, Value::Null).unwrap();
    assert_eq!(bench.execution.results["one"]["error"]["type"], "timeout");
    bench.end("one", How::Skipped, Value::Null).unwrap();
    assert_eq!(
        bench.execution.results["one"]["success"], false,
        "a skipped action has no outcome"
    );
}

#[test]
fn the_end_of_an_action_is_known_by_its_id_and_by_its_runners_name() {
    let by_id = "id: m\ninitial: a\nstates: { a: { on: { done.send: { target: b, assign: { n: '{{event.result.n}}', from: '{{event.source}}' } } } }, b: {} }\nactions: [ { actionId: send, type: t, triggerState: a } ]\n";
    let mut bench = Bench::start(by_id);
    bench.end("send", How::Done, json!({"n": 3})).unwrap();
    assert_eq!(
        (bench.states().as_str(), bench.variable("n"), bench.variable("from")),
        ("b", json!(3), json!("action_runner"))
    );
    let mut bench = Bench::start(
        &by_id
            .replace("done.send", "mail_sent")
            .replace("event.result", "event.payload"),
    );
    bench.end("send", How::Done, json!({"n": 3})).unwrap();
    assert_eq!((bench.states().as_str(), bench.variable("n")), ("b", json!(3)));
}
