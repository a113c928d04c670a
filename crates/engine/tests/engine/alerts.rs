//! Alerts: raised in the commit in which something dies, once, whatever dies with it.

use serde_json::{Map, Value, json};
use sprag_core::action::{Outcome, Status};
use sprag_core::operation::approval::Policy;
use sprag_engine::Options;
use sprag_engine::alerts::{Alert, ApprovalNews};
use sprag_engine::requests::{Command, ReportOutcome, RetryDead};
use sprag_store::records::Execution;
use sprag_store::traits::{ExecutionQuery, Reader};

use crate::rig::Rig;

const PAYING: &str = r"
id: m
initial: a
states: { a: { on: { done.pay: b, failed.pay: c } }, b: {}, c: {} }
actions:
  - { actionId: pay, type: webhook, triggerState: a, tags: [critical], config: { url: 'http://x' },
      retryPolicy: { maxAttempts: 1 } }
  - { actionId: late, type: noop, triggerState: c, priority: 95, deadline: 1s, delay: 500ms,
      limits: [ { key: none, concurrency: 1 } ] }
";

fn alert(when: Option<&str>) -> Alert {
    let action = json!({"type": "webhook", "config": {"url": "http://pager"}, "retryPolicy": {"maxAttempts": 2}});
    let action: Map<String, Value> = action.as_object().unwrap().clone();
    Alert::new("pager", when, &action, &()).unwrap()
}

fn rig(when: Option<&str>) -> Rig {
    let options = Options {
        alerts: vec![alert(when)],
        ..Options::default()
    };
    Rig::with_options(PAYING, options)
}

fn raised(rig: &Rig) -> Vec<Execution> {
    let query = ExecutionQuery {
        machine: Some("alert_pager".to_owned()),
        page: sprag_store::Page::first(100),
        ..ExecutionQuery::default()
    };
    rig.store.executions(&query).unwrap().rows
}

fn refused() -> Outcome {
    Outcome::not_done("not_found", "nobody there")
}

#[test]
fn what_matters_raises_an_alert_in_the_commit_in_which_it_dies() {
    let mut rig = rig(None);
    let execution = rig.start("m").id;
    let attempt = rig.job("pay").attempt;
    let outcome = refused();
    rig.tick(vec![Command::own(ReportOutcome { attempt, outcome })]);
    assert_eq!(rig.action_status(execution, "pay"), Status::Dead);
    assert_eq!(raised(&rig).len(), 1, "one commit did both");
    // The process dies before anything of it was sent: the alert is there, and is sent by the next one.
    rig.crash();
    rig.advance(60_000);
    assert_eq!(raised(&rig).len(), 1);
    let job = rig.job("alert");
    let payload = &job.config.config["payload"];
    assert_eq!(
        (&payload["type"], &payload["severity"]),
        (&json!("action_failed"), &json!("high"))
    );
    assert_eq!(payload["details"]["actionId"], "pay");
    assert_eq!(payload["details"]["failureReason"]["type"], "not_found");
    rig.done("alert");
    let sent = raised(&rig)[0].id;
    assert!(!rig.status(sent).is_open());
}

#[test]
fn what_dies_in_its_line_raises_one_too_and_what_is_not_meant_raises_none() {
    let mut when = rig(Some("actionId = \"late\""));
    when.start("m");
    when.finish("pay", refused());
    assert_eq!(raised(&when).len(), 0, "`pay` is not meant");
    when.start("m");
    when.finish("pay", refused());
    // Two of them are due, one may run at a time, and the other's time is over before its turn comes.
    when.advance(2_000);
    when.done("late");
    assert_eq!(raised(&when).len(), 1);
}

#[test]
fn an_alert_that_dies_raises_none_and_a_letter_that_dies_again_raises_another() {
    let mut rig = rig(None);
    let execution = rig.start("m").id;
    rig.finish("pay", refused());
    rig.finish("alert", refused());
    rig.advance(60_000);
    assert_eq!(raised(&rig).len(), 1);
    let stuck = raised(&rig)[0].id;
    assert_eq!(
        (rig.action_status(stuck, "alert"), rig.status(stuck).is_open()),
        (Status::Dead, true)
    );
    let letter = rig.action(execution, "pay").id;
    rig.act(RetryDead::as_is(letter)).unwrap();
    rig.finish("pay", refused());
    assert_eq!(raised(&rig).len(), 2);
}

#[test]
fn what_dies_because_its_process_died_raises_one_too() {
    let mut rig = rig(None);
    let execution = rig.start("m").id;
    rig.crash();
    assert_eq!(
        rig.action_status(execution, "pay"),
        Status::Dead,
        "its one attempt was cut off"
    );
    assert_eq!(raised(&rig).len(), 1);
}

#[test]
fn a_restart_with_the_same_alerts_keeps_no_new_version() {
    let mut rig = rig(None);
    rig.crash();
    rig.crash();
    let kept = rig.store.machine("alert_pager", None).unwrap().unwrap();
    assert_eq!(kept.version, 1);
}

#[test]
fn what_is_wrong_with_an_alert_is_said_with_its_place() {
    let action = json!({"type": "webhook", "config": {"url": 1}, "timout": 1});
    let problems = Alert::new("a b", Some("machin = \"x\""), action.as_object().unwrap(), &()).unwrap_err();
    let places: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert!(places.contains(&"/when") && places.contains(&"/name"), "{problems:#?}");
    assert!(places.iter().any(|place| place.starts_with("/action")), "{problems:#?}");
}

/// An alert about plans that wait for approval, on a machine with one that asks for it.
fn waiting_rig(decide_within: Option<u64>) -> Rig {
    let action = json!({"type": "webhook", "config": {"url": "http://pager"}, "requiresApproval": false});
    let action: Map<String, Value> = action.as_object().unwrap().clone();
    let news = ApprovalNews::ALL.into_iter().collect();
    let alert = Alert::by_hand("pager", &action, &()).unwrap().with_approvals(news);
    let options = Options {
        alerts: vec![alert],
        approval: Policy {
            decide_within,
            ..Policy::default()
        },
        ..Options::default()
    };
    let text = PAYING.replace("tags: [critical]", "requiresApproval: true, delay: 1h");
    Rig::with_options(&text, options)
}

fn told(rig: &Rig) -> Vec<String> {
    let mut told: Vec<_> = raised(rig)
        .iter()
        .map(|row| {
            let variables: Value = rig.variables(row.id);
            assert_eq!(variables["alert"]["details"]["name"], "m/pay");
            (row.id, variables["alert"]["type"].as_str().unwrap().to_owned())
        })
        .collect();
    told.sort();
    told.into_iter().map(|(_, kind)| kind).collect()
}

#[test]
fn a_plan_that_waits_is_told_once_of_each_kind_also_after_a_crash() {
    const HOUR: u64 = 3_600_000;
    let mut rig = waiting_rig(Some(4 * HOUR));
    let execution = rig.start("m").id;
    assert_eq!(told(&rig), ["approval_waiting"]);
    rig.crash();
    rig.advance(HOUR - 1);
    assert_eq!(told(&rig), ["approval_waiting"]);
    rig.advance(1);
    assert_eq!(
        told(&rig),
        ["approval_waiting", "approval_overdue"],
        "it was due an hour after its trigger"
    );
    rig.crash();
    rig.advance(2 * HOUR);
    let all = ["approval_waiting", "approval_overdue", "approval_expiring"];
    assert_eq!(told(&rig), all, "a quarter of the time is left");
    rig.crash();
    assert_eq!(rig.action_status(execution, "pay"), Status::Queued);
    rig.advance(HOUR);
    assert_eq!(told(&rig), all);
    assert_eq!(
        rig.action_status(execution, "pay"),
        Status::Cancelled,
        "the time to decide is over"
    );
}

#[test]
fn a_plan_without_a_time_to_decide_is_overdue_and_does_not_expire() {
    const DAY: u64 = 86_400_000;
    let mut rig = waiting_rig(None);
    let execution = rig.start("m").id;
    rig.advance(DAY);
    rig.crash();
    rig.advance(DAY);
    assert_eq!(told(&rig), ["approval_waiting", "approval_overdue"]);
    assert_eq!(rig.action_status(execution, "pay"), Status::Queued);
}
