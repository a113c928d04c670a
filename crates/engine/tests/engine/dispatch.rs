//! Lines, permits, rates, priorities, circuits.

use serde_json::{Map, Value, json};
use sprag_core::action::{Outcome, Status};
use sprag_core::ids::ExecutionId;
use sprag_engine::Options;
use sprag_engine::read::view::{Waiting, WaitingFor};
use sprag_engine::requests::{Explain, Start};

use crate::rig::Rig;

fn limited(limits: &str) -> String {
    format!(
        r"
id: m
variables: {{ customer: none, to: 'host:1', priority: 50 }}
initial: a
states: {{ a: {{ on: {{ done.call: b }} }}, b: {{}} }}
actions:
  - actionId: call
    type: noop
    triggerState: a
    config: {{ to: '{{{{variables.to}}}}' }}
    retryPolicy: {{ jitter: false, maxAttempts: 100, baseDelay: 10, maxDelay: 10 }}
    limits: [{limits}]
"
    )
}

fn start(rig: &mut Rig, variables: &Value) -> ExecutionId {
    let variables = variables.as_object().cloned().unwrap_or_else(Map::new);
    rig.start_with(Start {
        machine: "m".into(),
        variables,
        ..Start::default()
    })
    .unwrap()
    .id
}

fn waiting(rig: &mut Rig, id: ExecutionId) -> (WaitingFor, String) {
    let action = rig.action(id, "call").id;
    match rig.act(Explain(action)).unwrap().waiting {
        Waiting::Waiting { reason, object, .. } => (reason, object),
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_more_attempts_run_under_a_key_than_its_concurrency() {
    let mut rig = Rig::new(&limited("{ key: 'crm/{{variables.customer}}', concurrency: 2 }"));
    let ids: Vec<_> = (0..5).map(|_| start(&mut rig, &json!({ "customer": "a" }))).collect();
    start(&mut rig, &json!({ "customer": "b" }));
    assert_eq!(rig.started().len(), 3, "two of one customer, one of the other");
    assert_eq!(rig.action_status(ids[4], "call"), Status::Queued);
    assert_eq!(waiting(&mut rig, ids[4]), (WaitingFor::Permit, "crm/a".to_owned()));
    let first = rig.script.lock().unwrap().jobs[0].attempt;
    rig.finish_attempt(first, Outcome::done(json!(1)));
    assert_eq!(rig.started().len(), 4);
}

#[test]
fn grants_are_derived_from_running_attempts_after_a_crash() {
    let mut rig = Rig::new(&limited("{ concurrency: 2 }"));
    for _ in 0..6 {
        start(&mut rig, &json!({}));
    }
    rig.script.lock().unwrap().can_settle = true;
    rig.crash();
    assert_eq!(rig.settle_jobs(), 2);
    assert_eq!(
        rig.started().len(),
        2,
        "nothing more starts while it is not known what became of the two"
    );
    let lost: Vec<_> = rig.script.lock().unwrap().jobs.iter().map(|job| job.attempt).collect();
    for attempt in lost {
        rig.finish_attempt(attempt, Outcome::unknown("crashed", "died"));
    }
    assert_eq!(rig.started().len(), 4);
}

#[test]
fn a_rate_lets_its_count_through_and_then_one_after_the_other() {
    let mut rig = Rig::new(&limited("{ rate: { count: 2, per: 1000 } }"));
    let ids: Vec<_> = (0..5).map(|_| start(&mut rig, &json!({}))).collect();
    assert_eq!(rig.started().len(), 2);
    assert_eq!(waiting(&mut rig, ids[2]).0, WaitingFor::Rate);
    rig.advance(499);
    assert_eq!(rig.started().len(), 2);
    rig.advance(1);
    assert_eq!(rig.started().len(), 3);
    rig.advance(1_000);
    assert_eq!(rig.started().len(), 5);
}

#[test]
fn caps_of_the_node_hold_in_all_and_per_type() {
    let mut options = Options::default();
    options.caps.total = 3;
    let mut rig = Rig::with_options(&limited(""), options);
    for _ in 0..10 {
        start(&mut rig, &json!({}));
    }
    assert_eq!(rig.started().len(), 3);
    let mut options = Options::default();
    options.caps.per_type.insert("noop".into(), 1);
    let mut rig = Rig::with_options(&limited(""), options);
    for _ in 0..10 {
        start(&mut rig, &json!({}));
    }
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn higher_priority_goes_first_and_a_line_without_a_permit_blocks_nobody() {
    let text = r"
id: m
initial: a
states: { a: { type: parallel, states: { x: {}, y: {}, z: {} } } }
actions:
  - { actionId: blocker, type: noop, triggerState: a, config: {}, limits: [{ key: k, concurrency: 1 }] }
  - { actionId: low, type: noop, triggerState: a.x, config: {}, priority: 10, limits: [{ key: k, concurrency: 1 }] }
  - { actionId: high, type: noop, triggerState: a.y, config: {}, priority: 90, limits: [{ key: k, concurrency: 1 }] }
  - { actionId: free, type: noop, triggerState: a.z, config: {}, priority: 1 }
";
    let mut rig = Rig::new(text);
    rig.start("m");
    assert_eq!(rig.started(), ["high", "free"], "{:?}", rig.started());
    rig.done("high");
    assert_eq!(rig.started().last().unwrap(), "blocker");
    rig.done("blocker");
    assert_eq!(rig.started().last().unwrap(), "low");
}

#[test]
fn a_deep_line_is_served_whole_although_memory_holds_its_front_only() {
    let mut options = Options::default();
    options.caps.total = 10;
    let mut rig = Rig::with_options(&limited(""), options);
    for _ in 0..700 {
        start(&mut rig, &json!({}));
    }
    rig.crash();
    let mut served = 0;
    for _ in 0..2_000 {
        // The ten that were running when the process died are tried again after their delay.
        if rig.started().is_empty() {
            rig.advance(10);
        }
        let Some(job) = rig.script.lock().unwrap().jobs.pop() else {
            break;
        };
        served += 1;
        rig.finish_attempt(job.attempt, Outcome::done(json!(1)));
    }
    assert_eq!(served, 700);
}

#[test]
fn a_failing_destination_is_left_alone_and_nothing_fails_meanwhile() {
    let mut rig = Rig::new(&limited(""));
    for _ in 0..10 {
        start(&mut rig, &json!({ "to": "down:1" }));
    }
    let attempts: Vec<_> = rig.script.lock().unwrap().jobs.iter().map(|job| job.attempt).collect();
    for attempt in attempts {
        rig.finish_attempt(attempt, Outcome::not_done("network_error", "refused"));
    }
    rig.advance(10);
    let parked = start(&mut rig, &json!({ "to": "down:1" }));
    let healthy = start(&mut rig, &json!({ "to": "up:1" }));
    assert_eq!(waiting(&mut rig, parked), (WaitingFor::Circuit, "down:1".to_owned()));
    assert_eq!(rig.action_status(healthy, "call"), Status::Running);
    let before = rig.started().len();
    rig.advance(1_000);
    assert_eq!(rig.started().len(), before + 1, "half-open: one attempt goes through");
}
