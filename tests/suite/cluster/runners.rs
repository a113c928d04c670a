//! Programs outside the nodes: one that asks a single node gets the work of all of them, and what it says about it gets to
//! whoever serves the execution.

use serde_json::{Value, json};
use sprag_tests::{Client, Crowd, Postgres, wait};

use super::{GUARD, apply, nodes};

/// Work for a program, two attempts at most.
fn outside() -> Value {
    json!({
        "id": "outside",
        "initial": "working",
        "states": { "working": { "on": { "done.work": "over" } }, "over": { "type": "final" } },
        "actions": [{
            "actionId": "work",
            "type": "work",
            "runner": "program",
            "triggerState": "working",
            "config": {},
            "retryPolicy": { "jitter": false, "maxAttempts": 2, "baseDelay": 20, "maxDelay": 20 },
        }],
    })
}

fn start(crowd: &Crowd, node: usize) -> String {
    let body = json!({ "machine": "outside" });
    let answer = crowd.client(node).post("/v1/executions", &body).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

/// Asks for work until there is some, and says the attempts' ids.
fn lease(client: &mut Client, max: usize) -> Vec<String> {
    let body = json!({ "runner": "program", "types": ["work"], "max": max, "wait": "30s" });
    let answer = client.post("/v1/runners/lease", &body).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let attempts = answer.body["attempts"].as_array().unwrap().iter();
    attempts
        .map(|attempt| attempt["id"].as_str().unwrap().to_owned())
        .collect()
}

fn say(client: &mut Client, attempt: &str, verb: &str, body: &Value) -> Value {
    let answer = client.post(&format!("/v1/attempts/{attempt}/{verb}"), body).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[test]
fn a_program_that_asks_one_node_gets_the_work_of_all_and_its_words_get_to_the_owner() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 0, &outside());
    let ids: Vec<String> = (0..20).map(|number| start(&crowd, number % 2)).collect();
    let mut client = crowd.client(0);
    let mut ended = 0;
    while ended < ids.len() {
        for attempt in lease(&mut client, 3) {
            let beat = say(
                &mut client,
                &attempt,
                "heartbeat",
                &json!({ "checkpoint": { "at": ended } }),
            );
            assert_eq!(beat["cancelRequested"], false);
            say(
                &mut client,
                &attempt,
                "complete",
                &json!({ "result": { "by": attempt } }),
            );
            ended += 1;
        }
    }
    for id in &ids {
        let closed = client.get(&format!("/v1/executions/{id}?wait=30s")).unwrap();
        assert_eq!(closed.body["status"], "completed", "{closed:?}");
        let action = client.get(&format!("/v1/actions?executionId={id}")).unwrap().body["data"][0].clone();
        assert_eq!(action["attempts"].as_array().unwrap().len(), 1, "{action}");
    }
}

#[test]
fn a_program_that_waits_at_one_node_hears_of_work_that_comes_to_another() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 0, &outside());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lease(&mut crowd.client(0), 1));
        let id = start(&crowd, 1);
        let attempts = waiting.join().unwrap();
        assert_eq!(attempts.len(), 1);
        let failed = json!({ "error": { "type": "temporary_failure" }, "outcome": "notDone" });
        say(&mut crowd.client(0), &attempts[0], "fail", &failed);
        // The next one is another program's, at the other node.
        let again = lease(&mut crowd.client(1), 1);
        assert_ne!(attempts, again);
        say(&mut crowd.client(0), &again[0], "complete", &json!({}));
        wait::until("the execution to complete", GUARD, || {
            let answer = crowd.client(0).get(&format!("/v1/executions/{id}")).unwrap();
            (answer.body["status"] == "completed").then_some(())
        });
    });
}
