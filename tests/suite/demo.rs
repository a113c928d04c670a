//! `sprag up --demo` as a newcomer starts it: without a checkout, a store or a configuration.

use std::time::Duration;

use serde_json::Value;
use sprag_tests::{Client, Product, wait};

/// The slowest of what is waited for comes within a minute.
const GUARD: Duration = Duration::from_mins(4);

/// Waits until something that `path` lists is as wanted.
fn listed(client: &mut Client, what: &str, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait::until(what, GUARD, || {
        let answer = client.get(path).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| wanted(item))
            .cloned()
    })
}

#[test]
fn a_demo_has_something_of_everything_to_watch_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start_demo(folder.path());
    let mut client = product.client();
    let client = &mut client;
    let machines = client.get("/v1/machines").unwrap();
    assert_eq!(machines.body["data"].as_array().unwrap().len(), 4, "{}", machines.body);

    listed(
        client,
        "an execution that waits for a message",
        "/v1/executions",
        |view| view["waiting"]["for"] == "message",
    );
    listed(client, "parallel regions in progress", "/v1/executions", |view| {
        view["machine"] == "onboarding" && view["configuration"].as_array().is_some_and(|states| states.len() == 3)
    });
    listed(
        client,
        "the schedule to wait for its minute",
        "/v1/executions",
        |view| view["machine"] == "nightly-cron" && view["waiting"]["for"] == "timer",
    );
    let retried = listed(client, "an action that was tried again", "/v1/actions", |view| {
        view["status"] == "succeeded" && view["attempts"].as_array().is_some_and(|attempts| attempts.len() > 1)
    });
    assert_eq!(retried["attempts"][0]["outcome"], "notDone", "{retried}");
    listed(client, "a dead letter", "/v1/dead-letters", |view| {
        view["actionId"] == "charge"
    });
    listed(
        client,
        "an execution that completed",
        "/v1/executions?status=completed",
        |_| true,
    );

    let status = product.terminate(Duration::from_secs(30));
    assert!(status.success(), "{status:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
