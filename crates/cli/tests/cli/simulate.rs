//! Simulation on the command line.

use serde_json::{Value, json};

use crate::harness::{Ended, Place, examples};

/// An example's machine.
fn machine(name: &str) -> String {
    examples().join(name).join("machine.yaml").to_str().unwrap().to_owned()
}

/// The lines, each a JSON object.
fn lines(ended: &Ended) -> Vec<Value> {
    ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn each_input_is_one_json_line_and_the_first_is_the_initial_state() {
    let place = Place::new();
    let notice = "NOTICE_RECEIVED={\"daysAhead\": 45, \"terminationDate\": \"2026-03-01\"}";
    let arguments = [
        "machine",
        "simulate",
        &machine("lease-termination"),
        notice,
        "HUH",
        "--output",
        "json",
    ];
    let variables = [
        "--var",
        "tenantName=\"Ada\"",
        "--var",
        "landlordEmail=\"ben@example.com\"",
    ];
    let ended = place.run(&[&arguments[..], &variables[..]].concat()).ok();
    let given = json!({"currency": "EUR", "tenantName": "Ada", "landlordEmail": "ben@example.com"});
    let mut dated = given.clone();
    dated["terminationDate"] = json!("2026-03-01");
    assert_eq!(
        lines(&ended),
        [
            json!({"event": null, "configuration": ["awaiting_notice"], "handled": true, "actions": [], "variables": given}),
            json!({
                "event": "NOTICE_RECEIVED", "configuration": ["notice_received"], "handled": true,
                "actions": ["send_termination_notice"], "variables": dated,
            }),
            json!({"event": "HUH", "configuration": ["notice_received"], "handled": false, "actions": [], "variables": dated}),
        ]
    );
}

#[test]
fn a_guard_that_fails_leads_elsewhere_and_a_closed_machine_refuses() {
    let place = Place::new();
    let late = "NOTICE_RECEIVED={\"daysAhead\": 3}";
    let ended = place
        .run(&[
            "machine",
            "simulate",
            &machine("lease-termination"),
            late,
            late,
            "--variables",
            "{\"tenantName\": \"Ada\", \"landlordEmail\": \"ben@example.com\"}",
            "--output",
            "json",
        ])
        .fails(1, "");
    let lines = lines(&ended);
    assert_eq!(lines[1]["configuration"], json!(["rejected"]));
    assert_eq!(
        (&lines[2]["handled"], &lines[2]["error"]),
        (&json!(false), &json!("execution-closed"))
    );
    assert_eq!(lines[2]["configuration"], json!(["rejected"]));
}

#[test]
fn time_and_outcomes_come_from_a_file_after_the_arguments() {
    let place = Place::new();
    let events = "{\"outcome\": \"order_laptop\", \"success\": true}\n\n{\"advance\": \"14d\"}\n{\"type\": \"done.x\"}\n\
                  {\"outcome\": \"create_accounts\", \"success\": false}\n";
    place.write("events.jsonl", events);
    let file = machine("onboarding");
    let arguments = [
        "machine",
        "simulate",
        &file,
        "CONTRACT_SIGNED",
        "--events",
        "events.jsonl",
        "--output",
        "json",
    ];
    let ended = place
        .run(
            &[
                &arguments[..],
                &["--var", "name=\"Ada\"", "--var", "startDate=\"2026-03-01\""],
            ]
            .concat(),
        )
        .fails(1, "");
    let lines = lines(&ended);
    let events: Vec<&str> = lines
        .iter()
        .skip(1)
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        events,
        [
            "CONTRACT_SIGNED",
            "done.order_laptop",
            "advance",
            "done.x",
            "failed.create_accounts"
        ]
    );
    assert_eq!(lines[4]["error"], "reserved-type");
    assert_eq!(
        lines[5]["configuration"],
        json!([
            "preparing.accounts.by_hand",
            "preparing.equipment.overdue",
            "preparing.paperwork.signed"
        ])
    );
}

#[test]
fn a_schedule_fires_by_the_simulated_clock_and_the_same_inputs_give_the_same_lines() {
    let place = Place::new();
    place.write("events.jsonl", "{\"advance\": \"2d\"}\n");
    let file = machine("nightly-cron");
    let arguments = [
        "machine",
        "simulate",
        &file,
        "--events",
        "events.jsonl",
        "--output",
        "json",
    ];
    let first = place.run(&arguments).ok();
    assert_eq!(lines(&first)[1]["actions"], json!(["clean_up", "clean_up"]));
    assert_eq!(place.run(&arguments).ok().stdout, first.stdout);
}

#[test]
fn people_see_states_that_are_not_cut() {
    let place = Place::new();
    let ended = place
        .run(&[
            "machine",
            "simulate",
            &machine("order-payment"),
            "CANCEL",
            "X",
            "--variables",
            "{\"orderId\": \"A\", \"amount\": 1}",
        ])
        .fails(1, "");
    let variables = "{\"currency\":\"EUR\",\"orderId\":\"A\",\"amount\":1}";
    let shown: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        shown,
        [
            format!("start → charging   runs charge   {variables}"),
            format!("CANCEL → cancelled   {variables}   completed"),
            format!(
                "X → cancelled   refused: execution-closed: the execution is completed and accepts no more messages   {variables}"
            ),
        ]
    );
}

#[test]
fn input_that_is_none_ends_with_2_before_anything_is_printed() {
    let place = Place::new();
    let file = machine("order-payment");
    place.write("events.jsonl", "{\"type\": \"CANCEL\"}\n{\"typ\": \"X\"}\n");
    let ended = place
        .run(&["machine", "simulate", &file, "--events", "events.jsonl"])
        .fails(2, "events.jsonl:2: ");
    assert_eq!(ended.stdout, "");
    place
        .run(&["machine", "simulate", &file, "CANCEL=x"])
        .fails(2, "is not JSON");
    place.write("bad.yaml", "id: m\ninitial: a\nstates: {}\n");
    place
        .run(&["machine", "simulate", "bad.yaml"])
        .fails(2, "error[definition-invalid]: `bad.yaml` has 1 error");
}

#[test]
fn variables_that_a_start_would_refuse_are_refused_here_too() {
    let place = Place::new();
    let machine = "\
id: m
input: { type: object, required: [amount], properties: { amount: { type: number } } }
initial: a
states: { a: {} }
";
    let file = place.write("m.yaml", machine);
    let file = file.to_str().unwrap();
    let looked = place.run(&["machine", "simulate", file]).ok();
    assert!(looked.stderr.contains("`exec start` would refuse them"), "{looked:?}");
    place
        .run(&["machine", "simulate", file, "--var", "amount=\"x\""])
        .fails(2, "/variables/amount");
    place.run(&["machine", "simulate", file, "--var", "amount=1"]).ok();
}

const STEPS: &str = "\
id: steps
initial: work
states:
  work: { on: { done.call: ready, failed.call: broken, BAD: { assign: { n: '{{variables.missing.deep}}' } } }, after: { 5m: late } }
  ready: { type: final, output: { code: '{{event.result.code}}' } }
  broken: { type: final, output: '{{event.error.type}}' }
  late: { on: { NEXT: work } }
actions: [{ actionId: call, type: noop, triggerState: work }]
";

#[test]
fn ends_of_actions_and_time_are_given_on_the_command_line_and_the_output_is_shown() {
    let place = Place::new();
    place.write("m.yaml", STEPS);
    let done = place
        .run(&[
            "machine",
            "simulate",
            "m.yaml",
            "+5m",
            "NEXT",
            "done.call={\"code\": 7}",
        ])
        .ok();
    let last = done.stdout.lines().last().unwrap();
    assert!(last.starts_with("done.call → ready"), "{last}");
    assert!(last.ends_with("completed, output {\"code\":7}"), "{last}");
    let failed = place
        .run(&[
            "machine",
            "simulate",
            "m.yaml",
            "failed.call={\"type\": \"timeout\"}",
            "--output",
            "json",
        ])
        .ok();
    assert_eq!(lines(&failed)[1]["output"], "timeout");
    place.run(&["machine", "simulate", "m.yaml", "+5x"]).fails(2, "5x");
}

#[test]
fn what_is_refused_says_why_and_ends_with_1() {
    let place = Place::new();
    place.write("m.yaml", STEPS);
    let decision = place.run(&["machine", "simulate", "m.yaml", "BAD"]);
    assert_eq!(decision.code, Some(1), "{decision:?}");
    assert!(decision.stdout.contains("refused: decision-failed: "), "{decision:?}");
    assert!(decision.stdout.contains("missing"), "{decision:?}");
    let unknown = place.run(&["machine", "simulate", "m.yaml", "done.cal"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.stdout.contains("the machine has no action `cal`"),
        "{unknown:?}"
    );
}
