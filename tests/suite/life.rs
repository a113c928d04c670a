//! A server's life: start, second process, termination.

use std::time::Duration;

use serde_json::json;
use sprag_tests::{Client, Product, Reply, Site, store, wait};

const GUARD: Duration = Duration::from_mins(1);

#[test]
fn a_second_process_on_the_file_is_refused_by_name() {
    if !store::is_file("a database takes another server in its place") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let first = Product::start(&store, &[]);
    let refused = Product::try_start(&store, &[]).err().expect("a refusal");
    assert!(refused.contains("sprag.db"), "{refused}");
    drop(first);
    Product::start(&store, &[]);
}

#[test]
fn termination_drains_and_ends_even_when_an_action_ignores_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sprag.toml");
    std::fs::write(&config, "[exec]\nallow = [\"/bin/sh\"]\n").unwrap();
    let store = folder.path().join("sprag.db");
    let config = config.display().to_string();
    let product = Product::start(&store, &[("SPRAG_CONFIG", &config)]);
    let mut client = product.client();
    let machine = json!({
        "id": "stubborn",
        "initial": "a",
        "states": { "a": {} },
        "actions": [{
            "actionId": "sleep",
            "type": "exec",
            "triggerState": "a",
            "config": { "command": ["/bin/sh", "-c", "trap '' TERM; while :; do /bin/sleep 1; done"] },
        }],
    });
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    assert_eq!(
        client
            .post("/v1/executions", &json!({ "machine": "stubborn" }))
            .unwrap()
            .status,
        201
    );
    wait::until("the action to run", GUARD, || {
        let answer = client.get("/v1/actions").unwrap();
        (answer.body["data"][0]["status"] == "running").then_some(())
    });
    // The promise is ten seconds; three times that is a hang.
    let status = product.terminate(Duration::from_secs(30));
    assert!(status.success(), "{status:?}");
}

/// A machine that calls `url` until it is answered, and then waits for a message.
fn calling(url: &str) -> serde_json::Value {
    json!({
        "id": "calling",
        "initial": "a",
        "states": { "a": { "on": { "done.call": "b", "failed.call": "b" } }, "b": { "on": { "END": "c" } }, "c": { "type": "final" } },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "a",
            "config": { "url": url },
            "retryPolicy": { "maxAttempts": 2, "baseDelay": 1, "jitter": false },
        }],
    })
}

fn begin(client: &mut Client, machine: &str) {
    let started = client.post("/v1/executions", &json!({ "machine": machine })).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
}

#[test]
fn a_server_says_what_it_recovered_and_which_actions_failed() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let silent = Site::start(|_| Reply::Silence);
    let first = Product::start(&store, &[]);
    let mut client = first.client();
    let machine = calling(&silent.url("/"));
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    begin(&mut client, "calling");
    wait::until("the call to arrive", GUARD, || {
        (!silent.visits().is_empty()).then_some(())
    });
    first.kill();
    let second = Product::start(&store, &[]);
    let recovered = if store::is_file("one process owns a file, so it counts its own executions") {
        "recovered 1 execution, 1 interrupted attempt\""
    } else {
        "recovered 1 interrupted attempt; the database holds 1 open execution\""
    };
    wait::until("what it recovered", GUARD, || {
        second.log().contains(recovered).then_some(())
    });
    wait::until("the retry", GUARD, || (silent.visits().len() > 1).then_some(()));
    let log = second.log();
    let line = log.lines().find(|line| line.contains("attempt failed, retrying"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    for part in [
        "\"error\":\"crashed\"",
        "\"attempt\":1",
        "\"action\":\"call\"",
        "act_",
        "exe_",
        "att_",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}
