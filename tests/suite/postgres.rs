//! The real binary on a real `PostgreSQL`: an outage of the database in the middle of an effect, and refusals at the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Postgres, Product, Reply, Site, wait};

const GUARD: Duration = Duration::from_mins(2);

fn machine(url: &str) -> Value {
    json!({
        "id": "call",
        "initial": "calling",
        "states": { "calling": { "on": { "done.call": "end" } }, "end": { "type": "final" } },
        "actions": [{ "actionId": "call", "type": "webhook", "triggerState": "calling", "config": { "url": url } }],
    })
}

/// Waits until the server says so about itself.
fn until_ready(client: &mut Client, status: u16) {
    wait::until(&format!("readyz to say {status}"), GUARD, || {
        let answer = client.get("/readyz").ok()?;
        (answer.status == status).then_some(())
    });
}

#[test]
fn an_outcome_that_comes_while_the_database_is_away_is_recorded_when_it_is_back() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start();
    let product = Product::start_on(&cluster.database(), &[]).unwrap();
    let mut client = product.client();
    let (may_answer, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (gate, sent) = (Arc::clone(&may_answer), Arc::clone(&answered));
    let site = Site::start(move |_| {
        wait::until("leave to answer", GUARD, || gate.load(Ordering::SeqCst).then_some(()));
        sent.store(true, Ordering::SeqCst);
        Reply::json(200, &json!({ "taken": true }))
    });
    assert_eq!(
        client.post("/v1/machines", &machine(&site.url("/"))).unwrap().status,
        201
    );
    let start = json!({ "machine": "call" });
    let started = client.post("/v1/executions", &start).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    wait::until("the call to arrive", GUARD, || (site.visits().len() == 1).then_some(()));

    cluster.crash();
    until_ready(&mut client, 503);
    assert_eq!(client.get("/healthz").unwrap().status, 200, "it lives");
    let refused = client.post("/v1/executions", &start).unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(
        refused.body["type"].as_str().unwrap().ends_with("store-away"),
        "{refused:?}"
    );
    // The answer comes while there is nowhere to put it.
    may_answer.store(true, Ordering::SeqCst);
    wait::until("the answer to be sent", GUARD, || {
        answered.load(Ordering::SeqCst).then_some(())
    });
    cluster.restart();
    until_ready(&mut client, 200);
    let id = started.body["id"].as_str().unwrap();
    wait::until("the execution to complete", GUARD, || {
        let found = client.get(&format!("/v1/executions/{id}?wait=5s")).ok()?;
        (found.body["status"] == "completed").then_some(())
    });
    assert_eq!(site.visits().len(), 1, "the effect was not repeated");
    let again = client.post("/v1/executions", &start).unwrap();
    assert_eq!(again.status, 201, "{again:?}");
}

#[test]
fn a_server_that_is_killed_and_started_again_goes_on_at_once() {
    if !Postgres::is_installed() {
        return;
    }
    let url = Postgres::shared().database();
    let first = Product::start_on(&url, &[]).unwrap();
    let sleeper = json!({
        "id": "sleeper",
        "initial": "asleep",
        "states": { "asleep": { "after": { "50": "awake" } }, "awake": { "type": "final" } },
    });
    let mut client = first.client();
    assert_eq!(client.post("/v1/machines", &sleeper).unwrap().status, 201);
    let address = first.address();
    let started = client.post("/v1/executions", &json!({ "machine": "sleeper" })).unwrap();
    first.kill();
    // Its lease runs for seconds still; but whoever listens where it did has taken its place.
    let clock = System::start(Timestamp::from_millis(0));
    let second = Product::start_node(&url, address, &[]).unwrap();
    let mut client = second.client();
    let id = started.body["id"].as_str().unwrap();
    let found = client.get(&format!("/v1/executions/{id}?wait=30s")).unwrap();
    assert_eq!(found.body["status"], "completed", "{found:?}");
    println!(
        "after kill -9 and a new start, the work continued within {:?}",
        clock.elapsed()
    );
    assert!(clock.elapsed() < Duration::from_secs(9), "it waited for a lease");
}

#[test]
fn a_database_that_cannot_be_trusted_is_refused_in_one_line() {
    if !Postgres::is_installed() {
        return;
    }
    let refused = Product::start_on("postgres://sprag@127.0.0.1:1/none", &[])
        .err()
        .unwrap();
    assert!(refused.contains("cannot be reached"), "{refused}");
    let cluster = Postgres::start_with("-c synchronous_commit=off");
    let url = cluster.database();
    let refused = Product::start_on(&url, &[]).err().unwrap();
    assert!(refused.contains("synchronous_commit=off"), "{refused}");
    assert!(refused.contains("unsafe=allow"), "{refused}");
    Product::start_on(&format!("{url}?unsafe=allow"), &[]).unwrap();
}
