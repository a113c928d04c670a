//! Ten thousand timers: never early, alive after kill -9, and how late.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Product, wait};

const GUARD: Duration = Duration::from_mins(2);
const TIMERS: usize = 10_000;
const CLIENTS: usize = 4;
/// What each execution sleeps.
const SLEEP_MILLIS: i64 = 3_000;

#[test]
fn ten_thousand_timers_never_fire_early_and_survive_kill_nine() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let product = Product::start(&store, &[]);
    start_all(&product);
    product.kill();
    let product = Product::start(&store, &[]);
    let late = lateness(&product);
    assert_eq!(late.len(), TIMERS);
    assert!(late[0] >= 0, "a timer fired {} ms early", -late[0]);
}

#[test]
fn timers_are_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    start_all(&product);
    let late = lateness(&product);
    assert!(late[0] >= 0, "a timer fired {} ms early", -late[0]);
    let p99 = late[late.len() * 99 / 100];
    println!(
        "timers: {} fired, lateness p50 {} ms, p99 {p99} ms",
        late.len(),
        late[late.len() / 2]
    );
    if std::env::var_os("SPRAG_PROVE").is_some() {
        assert!(p99 < 20, "promised: p99 under 20 ms");
    }
}

fn start_all(product: &Product) {
    let machine = json!({
        "id": "sleeper",
        "initial": "asleep",
        "states": { "asleep": { "after": { SLEEP_MILLIS.to_string(): "awake" } }, "awake": { "type": "final" } },
    });
    assert_eq!(product.client().post("/v1/machines", &machine).unwrap().status, 201);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = product.client();
            scope.spawn(move || {
                for _ in 0..TIMERS / CLIENTS {
                    let answer = client.post("/v1/executions", &json!({ "machine": "sleeper" })).unwrap();
                    assert_eq!(answer.status, 201, "{answer:?}");
                }
            });
        }
    });
}

/// How late each timer fired in milliseconds, sorted; waits until all have.
fn lateness(product: &Product) -> Vec<i64> {
    let mut client = product.client();
    wait::until("all timers to fire", GUARD, || {
        let answer = client.get("/v1/executions?status=running&limit=1").unwrap();
        answer.body["data"].as_array().unwrap().is_empty().then_some(())
    });
    let mut late: Vec<i64> = completed(&mut client).iter().map(slept_too_long).collect();
    late.sort_unstable();
    late
}

fn completed(client: &mut Client) -> Vec<Value> {
    let mut found = Vec::new();
    let mut path = "/v1/executions?status=completed&limit=1000".to_owned();
    loop {
        let answer = client.get(&path).unwrap();
        found.extend(answer.body["data"].as_array().unwrap().iter().cloned());
        match answer.body["nextCursor"].as_str() {
            Some(cursor) => path = format!("/v1/executions?status=completed&limit=1000&cursor={cursor}"),
            None => return found,
        }
    }
}

fn slept_too_long(execution: &Value) -> i64 {
    let at = |name: &str| -> i64 {
        let text = execution[name].as_str().unwrap();
        text.parse::<sprag_core::time::Timestamp>().unwrap().as_millis()
    };
    at("updatedAt") - at("createdAt") - SLEEP_MILLIS
}
