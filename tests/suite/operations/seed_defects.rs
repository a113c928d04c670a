//! The faults of the workflows' seed document, D23 to D30 of the list of defects: each once, against the real binary.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;
use sprag_tests::wait;

use super::{GUARD, Office, code, one, steps};

/// Something that needs no approval runs to its end: whatever could start by then has started.
fn let_others_run(office: &Office, path: &str) {
    let id = office.propose(&steps(path, &[("a", "cache.look", path), ("b", "cache.look", path)]));
    office.until(&id, "completed");
}

/// The attempts of the first step, as they are stored.
fn attempts(office: &Office, id: &str) -> Vec<Value> {
    let workflow = office.workflow(id);
    let action = workflow["steps"][0]["actionId"]
        .as_str()
        .unwrap_or_else(|| panic!("{workflow:#}"));
    let action = office.get(&format!("/v1/actions/{action}"));
    action["attempts"].as_array().unwrap().clone()
}

#[test]
fn d23_no_step_of_a_workflow_runs_because_it_is_one_of_a_workflow() {
    let mut office = Office::open("");
    let named = [("one", "cache.drain", "one"), ("two", "cache.look", "two")];
    let unapproved = office.propose(&steps("unapproved", &named));
    let rejected = office.propose(&one("cache.drain", "rejected"));
    let refused = office.ask("bob", &rejected, "reject", &json!({ "comment": "no" }));
    assert_eq!(refused.status, 200, "{refused:?}");
    let named = [("begun", "cache.drain", "silent"), ("next", "cache.look", "next")];
    let revoked = office.propose(&steps("revoked", &named));
    assert_eq!(office.approve("bob", &revoked).status, 200);
    office.until_visited("silent", 1);
    let answer = office.ask("cleo", &revoked, "revoke", &json!({ "comment": "wrong node" }));
    assert_eq!(answer.status, 200, "{answer:?}");
    office.repair();
    office.kill_and_start();
    let_others_run(&office, "others");
    assert_eq!(
        office.visits("one") + office.visits("two") + office.visits("rejected") + office.visits("next"),
        0
    );
    assert_eq!(
        office.visits("silent"),
        1,
        "it was interrupted, and may not be tried again"
    );
    for id in [&unapproved, &revoked] {
        let waits = office.workflow(id);
        assert_eq!(
            (&waits["status"], &waits["steps"][1]["waiting"]["for"]),
            (&json!("awaiting_approval"), &json!("approval")),
            "{waits:#}"
        );
    }
}

#[test]
fn d24_a_step_that_was_killed_while_it_ran_is_neither_lost_nor_left() {
    let mut office = Office::open("");
    let id = office.propose(&steps(
        "killed",
        &[("one", "cache.look", "silent"), ("two", "cache.look", "two")],
    ));
    office.until_visited("silent", 1);
    office.kill();
    office.repair();
    office.start(&[]).unwrap();
    office.until(&id, "completed");
    assert_eq!((office.visits("silent"), office.visits("two")), (2, 1));
    let made = attempts(&office, &id);
    assert_eq!(
        (&made[0]["outcome"], &made[1]["outcome"]),
        (&json!("unknown"), &json!("done")),
        "{made:#?}"
    );
}

#[test]
fn d25_a_workflow_that_continues_does_not_begin_at_its_first_step() {
    let mut office = Office::open("");
    let named = [
        ("one", "cache.look", "one"),
        ("two", "cache.look", "gone"),
        ("three", "cache.look", "three"),
    ];
    let id = office.propose(&steps("resumed", &named));
    office.until(&id, "failed");
    office.kill_and_start();
    office.repair();
    assert_eq!(
        office.ask("olga", &id, "resume", &json!({ "reason": "again" })).status,
        200
    );
    office.until(&id, "completed");
    assert_eq!(office.visited(), ["one", "gone", "gone", "three"]);
}

#[test]
fn d26_the_end_of_an_attempt_and_its_count_are_one_commit() {
    const CRASHES_MAX: usize = 30;
    let catalog = "
operation: thrice
riskLevel: low
parameters: { path: { type: string, required: true } }
action:
  type: webhook
  config: { url: 'http://SITE/{{params.path}}' }
  retryPolicy: { maxAttempts: 3, backoffStrategy: fixed, baseDelay: 20, maxDelay: 20 }
";
    let mut office = Office::open("");
    let catalog = catalog.replace("SITE", &office.site.address().to_string());
    assert_eq!(office.publish(&catalog).status, 201);
    office.stop();
    let prepared = office.store.clone();
    let mut crashes = 0;
    for number in 1..=CRASHES_MAX {
        let path = format!("busy-{number}");
        office.copy(&prepared, &format!("{number}.db"));
        let failpoint = format!("after-commit:{number}");
        let started = office.start(&[("SPRAG_FAILPOINT", &failpoint)]);
        let ended = started.is_ok() && fail_three_times(&office, &path).is_ok();
        if !ended {
            crashes += 1;
            office.died();
            office.start(&[]).unwrap();
            fail_three_times(&office, &path).unwrap();
        }
        let listed = office.get("/v1/workflows");
        let made = attempts(&office, listed["data"][0]["id"].as_str().unwrap());
        let numbers: Vec<u64> = made.iter().filter_map(|attempt| attempt["number"].as_u64()).collect();
        assert_eq!(numbers, [1, 2, 3], "{failpoint}: {made:#?}");
        assert!(office.visits(&path) <= 3, "{failpoint}: an attempt that nobody counted");
        if ended {
            break;
        }
    }
    assert!((4..CRASHES_MAX).contains(&crashes), "{crashes} crashes");
}

/// Proposes once, and waits until the three attempts have failed. An error means that the server died.
fn fail_three_times(office: &Office, path: &str) -> std::io::Result<()> {
    let mut ann = office.client("ann");
    if ann.get("/v1/workflows")?.body["data"][0].is_null() {
        let proposed = ann.post("/v1/workflows", &one("thrice", path))?;
        assert_eq!(proposed.status, 201, "{proposed:?}");
    }
    loop {
        let listed = ann.get("/v1/workflows")?.body;
        match listed["data"][0]["status"].as_str() {
            Some("failed") => return Ok(()),
            Some("in_progress") => std::thread::yield_now(),
            _ => panic!("{listed:#}"),
        }
    }
}

#[test]
fn d27_due_times_are_instants_whatever_offset_they_are_written_with() {
    let mut office = Office::open("");
    office.kill();
    office.start(&[("TZ", "Pacific/Kiritimati")]).unwrap();
    let now = System::start(Timestamp::from_millis(0)).now();
    // As texts the first is the larger one; as instants it is the earlier one.
    let written = |at: Timestamp, hours: i64, offset: &str| {
        let moved = at.plus(u64::try_from(48 + hours).unwrap() * 3_600_000).as_millis() - 48 * 3_600_000;
        let local = Timestamp::from_millis(moved).to_string();
        format!("{}{offset}", local.trim_end_matches('Z'))
    };
    let sooner = written(now.plus(2_000), 14, "+14:00");
    let later = written(now.plus(3_000), -10, "-10:00");
    assert!(sooner > later, "{sooner} {later}");
    let ids = [("sooner", &sooner), ("later", &later)].map(|(path, at)| {
        let mut body = one("cache.look", path);
        body["scheduledAt"] = at.as_str().into();
        office.propose(&body)
    });
    for id in &ids {
        office.until(id, "completed");
    }
    assert_eq!(office.visited(), ["sooner", "later"]);
    assert!(System::start(Timestamp::from_millis(0)).now() >= now.plus(3_000));
    let mut naive = one("cache.look", "naive");
    naive["scheduledAt"] = "2026-10-25T02:30:00".into();
    let refused = office.post("ann", "/v1/workflows", &naive);
    assert_eq!(
        code(&refused),
        "definition-invalid",
        "a time without an offset is no instant: {refused:?}"
    );
}

#[test]
fn d28_of_many_who_ask_for_a_step_one_gets_it() {
    const POLLS: usize = 8;
    let mut office = Office::open("");
    office.hire("gpu", &json!({ "name": "gpu", "roles": ["runner"] }));
    let applied =
        office.publish("operation: render\nriskLevel: low\naction: { type: render, runner: gpu, config: {} }\n");
    assert_eq!(applied.status, 201, "{applied:?}");
    let id = office.propose(&json!({ "operation": "render", "params": {}, "reason": "a test" }));
    let poll = json!({ "types": ["render"], "runner": "gpu", "wait": "2s", "max": 5 });
    let leased: Vec<Value> = std::thread::scope(|scope| {
        let polls: Vec<_> = (0..POLLS)
            .map(|_| {
                let (mut client, poll) = (office.client("gpu"), &poll);
                scope.spawn(move || client.post("/v1/runners/lease", poll).unwrap().body)
            })
            .collect();
        polls.into_iter().map(|poll| poll.join().unwrap()).collect()
    });
    let all = leased
        .iter()
        .filter_map(|answer| answer["attempts"].as_array())
        .flatten();
    let attempts: Vec<&str> = all.filter_map(|attempt| attempt["id"].as_str()).collect();
    let distinct: BTreeSet<&str> = attempts.iter().copied().collect();
    assert_eq!((attempts.len(), distinct.len()), (1, 1), "{leased:#?}");
    let path = format!("/v1/attempts/{}/complete", attempts[0]);
    let completed = office.post("gpu", &path, &json!({ "result": { "frames": 3 } }));
    assert_eq!(completed.status, 200, "{completed:?}");
    assert_eq!(office.until(&id, "completed")["steps"][0]["result"]["frames"], 3);
}

#[test]
fn d29_a_retry_needs_an_approval_that_stands() {
    let mut office = Office::open("");
    let token = office.hire("dave", &json!({ "name": "dave", "roles": ["approver"] }));
    let revoked = office.propose(&one("cache.drain", "busy-revoked"));
    let fired = office.propose(&one("cache.drain", "busy-fired"));
    assert_eq!(office.approve("bob", &revoked).status, 200);
    assert_eq!(office.approve("dave", &fired).status, 200);
    office.until_visited("busy-revoked", 1);
    office.until_visited("busy-fired", 1);
    let answer = office.ask("cleo", &revoked, "revoke", &json!({ "comment": "wrong node" }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = office.post("admin", &format!("/v1/tokens/{token}/revoke"), &json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    office.until(&fired, "awaiting_approval");
    office.until(&revoked, "awaiting_approval");
    let idle = || {
        let no_attempt_runs = [&revoked, &fired]
            .iter()
            .all(|id| attempts(&office, id).iter().all(|one| !one["endTime"].is_null()));
        no_attempt_runs.then(|| (office.visits("busy-revoked"), office.visits("busy-fired")))
    };
    let before = wait::until("the attempts that run to end", GUARD, idle);
    office.kill_and_start();
    let action = office.workflow(&revoked)["steps"][0]["actionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let hurried = office.post("olga", &format!("/v1/actions/{action}/retry-now"), &json!({}));
    assert!(
        matches!(code(&hurried), "approval-missing" | "status-conflict"),
        "{hurried:?}"
    );
    let_others_run(&office, "others");
    assert_eq!((office.visits("busy-revoked"), office.visits("busy-fired")), before);
    office.repair();
    for id in [&revoked, &fired] {
        assert_eq!(office.approve("cleo", id).status, 200);
        office.until(id, "completed");
    }
}

#[test]
fn d30_a_dependency_that_is_not_there_yet_leaves_no_workflow_dangling() {
    let mut office = Office::open("");
    let named = [
        ("first", "cache.look", "silent"),
        ("second", "cache.look", "second"),
        ("third", "cache.look", "third"),
    ];
    let id = office.propose(&steps("waiting", &named));
    office.until_visited("silent", 1);
    for _ in 0..2 {
        let waits = office.workflow(&id);
        assert_eq!(waits["status"], "in_progress", "{waits:#}");
        for (step, before) in [(1, "first"), (2, "second")] {
            let waiting = &waits["steps"][step]["waiting"];
            assert_eq!(
                (&waiting["for"], &waiting["object"]),
                (&json!("dependency"), &json!(before)),
                "{waits:#}"
            );
        }
        let resumed = office.ask("olga", &id, "resume", &json!({ "reason": "is it stuck?" }));
        assert_eq!(code(&resumed), "status-conflict", "{resumed:?}");
        office.kill_and_start();
        office.until_visited("silent", 2);
    }
    office.repair();
    office.kill_and_start();
    office.until(&id, "completed");
    assert_eq!((office.visits("second"), office.visits("third")), (1, 1));
}
