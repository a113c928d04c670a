//! A server's life: start, second process, termination.

use std::time::Duration;

use serde_json::json;
use sprag_tests::{Product, store, wait};

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
