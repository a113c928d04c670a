//! Steps that are due later: nothing is early, nothing is lost while the server is down, nothing runs unapproved.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;

use super::{Office, one, steps};

fn now() -> Timestamp {
    System::start(Timestamp::from_millis(0)).now()
}

fn at(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("{value}")).parse().unwrap()
}

/// A look now, and another one after a while.
fn look_again(delay: &str, path: &str) -> Value {
    let mut body = steps("again", &[("now", "cache.look", "now"), ("later", "cache.look", path)]);
    body["steps"][1]["delay"] = delay.into();
    body
}

/// The workflow once its follow-up waits for its time.
fn until_it_waits(office: &Office, id: &str) -> Value {
    sprag_tests::wait::until("the first step to end", super::GUARD, || {
        let workflow = office.workflow(id);
        (workflow["steps"][1]["waiting"]["for"] == "timer").then_some(workflow)
    })
}

#[test]
fn a_follow_up_that_was_due_while_the_server_was_down_runs_when_it_starts() {
    let mut office = Office::open("");
    let far = office.propose(&look_again("1h", "far"));
    until_it_waits(&office, &far);
    let id = office.propose(&look_again("2s", "later"));
    let first = until_it_waits(&office, &id);
    office.kill();
    let due = at(&first["updatedAt"]).plus(2_500);
    sprag_tests::wait::until("the follow-up to be due", super::GUARD, || (now() > due).then_some(()));
    assert_eq!(office.visits("later"), 0, "nobody is there to run it");
    office.start(&[]).unwrap();
    office.until(&id, "completed");
    assert_eq!(office.visits("later"), 1);
    let waits = office.workflow(&far);
    assert_eq!(
        (&waits["status"], office.visits("far")),
        (&json!("in_progress"), 0),
        "{waits:#}"
    );
    assert_eq!(waits["steps"][1]["waiting"]["for"], "timer", "{waits:#}");
}

#[test]
fn a_follow_up_is_never_early_also_across_a_kill() {
    let mut office = Office::open("");
    let due = now().plus(3_000);
    let mut body = one("cache.look", "later");
    body["scheduledAt"] = due.to_string().into();
    let id = office.propose(&body);
    office.kill_and_start();
    let waits = office.workflow(&id);
    assert_eq!(
        (&waits["steps"][0]["waiting"]["for"], office.visits("later")),
        (&json!("timer"), 0),
        "{waits:#}"
    );
    office.until(&id, "completed");
    assert!(now() >= due, "it ran before {due}");
    assert_eq!(office.visits("later"), 1);
}

#[test]
fn an_overdue_follow_up_that_nobody_approved_says_so_and_does_not_run() {
    let mut office = Office::open("");
    let due = now().plus(1_000);
    let mut body = one("cache.drain", "overdue");
    body["scheduledAt"] = due.to_string().into();
    let id = office.propose(&body);
    office.kill();
    sprag_tests::wait::until("it to be due", Duration::from_mins(1), || {
        (now() > due.plus(500)).then_some(())
    });
    office.start(&[]).unwrap();
    let after = office.propose(&one("cache.look", "after"));
    office.until(&after, "completed");
    let overdue = office.workflow(&id);
    assert_eq!(
        (&overdue["status"], office.visits("overdue")),
        (&json!("awaiting_approval"), 0)
    );
    let step = &overdue["steps"][0];
    assert_eq!(
        (&step["waiting"]["for"], &step["overdue"]),
        (&json!("approval"), &json!(true)),
        "{overdue:#}"
    );
    let listed = office.get("/v1/approvals");
    assert_eq!(listed["data"][0]["steps"][0]["overdue"], true, "{listed:#}");
    assert_eq!(office.approve("bob", &id).status, 200);
    office.until(&id, "completed");
    assert_eq!(office.visits("overdue"), 1);
}
