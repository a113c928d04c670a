//! Clocks that jump: signatures, cron, timers and retention follow the real clock.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, binary, neighbour, store, wait};

const GUARD: Duration = Duration::from_mins(1);
/// Where Debian puts it.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const MINUTE: u64 = 60_000;

/// The environment of a process whose wall clock is off by so much; monotonic time is left as it is.
fn skewed(by: &str) -> [(&str, &str); 4] {
    assert!(
        Path::new(FAKETIME).exists(),
        "libfaketime is missing; `make tools` installs it"
    );
    [
        ("LD_PRELOAD", FAKETIME),
        ("FAKETIME", by),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("SPRAG_RETENTION_CLOSED_DAYS", "1"),
    ]
}

const RIGHT: [(&str, &str); 1] = [("SPRAG_RETENTION_CLOSED_DAYS", "1")];

fn machine() -> Value {
    json!({
        "id": "short",
        "initial": "waiting",
        "states": {
            "waiting": { "after": { "200ms": "over" } },
            "over": { "type": "final" },
        },
    })
}

/// Starts an execution and waits until its timer has ended it.
fn complete(client: &mut Client) -> Value {
    let started = client.post("/v1/executions", &json!({ "machine": "short" })).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    let path = format!("/v1/executions/{}", started.body["id"].as_str().unwrap());
    wait::until("a timer to fire", GUARD, || {
        let found = client.get(&path).ok()?.body;
        (found["status"] == "completed").then_some(found)
    })
}

fn ids(client: &mut Client) -> Vec<String> {
    let listed = client.get("/v1/executions?limit=1000").unwrap().body;
    let rows = listed["data"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn notes(client: &mut Client) -> Vec<String> {
    let ready = client.get("/readyz").unwrap();
    assert_eq!((ready.status, &ready.body["status"]), (200, &json!("ready")));
    let notes = ready.body["notes"].as_array().into_iter().flatten();
    notes.map(|note| note["code"].as_str().unwrap().to_owned()).collect()
}

fn system(product: &Product, options: &[&str]) -> String {
    let output = Command::new(binary("sprag"))
        .args(["system", "--server", &format!("http://{}", product.address())])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// How far the date of an execution is from the present.
fn error_millis(execution: &Value) -> u64 {
    let created: Timestamp = serde_json::from_value(execution["createdAt"].clone()).unwrap();
    let now = System::start(Timestamp::default()).now();
    now.since(created).max(created.since(now))
}

#[test]
fn one_start_with_a_fast_clock_is_reported_and_changes_nothing_for_later_ones() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let fast = Product::start(&path, &skewed("+1h"));
    let mut client = fast.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    let ahead = complete(&mut client);
    assert!(error_millis(&ahead) > 50 * MINUTE, "the clock was ahead: {ahead}");
    assert!(fast.terminate(GUARD).success());

    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    neighbour::beside(&product, || {
        let present = complete(&mut client);
        assert!(error_millis(&present) < MINUTE, "it bears the real time: {present}");
        let (newer, older) = (present["id"].as_str().unwrap(), ahead["id"].as_str().unwrap());
        assert!(newer > older, "records keep their order: {newer} {older}");
        assert_eq!(notes(&mut client), ["clock-behind"]);
        let shown = system(&product, &[]);
        assert!(
            shown.contains("behind the newest record") && shown.contains("--accept-clock"),
            "{shown}"
        );
    });
    assert!(product.log().contains("clock-behind"), "{}", product.log());

    let accepted = system(&product, &["--accept-clock"]);
    assert!(!accepted.contains("behind the newest record"), "{accepted}");
    assert!(notes(&mut client).is_empty());
    complete(&mut client);
    assert!(product.terminate(GUARD).success());
    let again = Product::start(&path, &RIGHT);
    assert!(notes(&mut again.client()).is_empty(), "it stays accepted");
    assert!(!again.log().contains("clock-behind"), "{}", again.log());
}

#[test]
fn a_clock_ten_years_ahead_deletes_nothing_until_a_person_accepts_it() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 0..10 {
        complete(&mut client);
    }
    let all = ids(&mut client);
    assert!(product.terminate(GUARD).success());

    // Twice: a restart must not make the jump forgotten.
    for _ in 0..2 {
        let fast = Product::start(&path, &skewed("+3650d"));
        let mut client = fast.client();
        wait::until("retention to look", GUARD, || {
            fast.log().contains("retention-waits").then_some(())
        });
        assert_eq!(notes(&mut client), ["retention-waits"]);
        assert_eq!(ids(&mut client), all, "nothing was deleted");
        assert!(fast.terminate(GUARD).success());
    }
    let right = Product::start(&path, &RIGHT);
    let mut client = right.client();
    assert_eq!(ids(&mut client), all);
    assert_eq!(
        notes(&mut client),
        ["clock-behind"],
        "retention goes on by the real clock"
    );
    assert!(right.terminate(GUARD).success());

    let fast = Product::start(&path, &skewed("+3650d"));
    let mut client = fast.client();
    system(&fast, &["--accept-clock"]);
    wait::until("retention to go on", GUARD, || {
        ids(&mut client).is_empty().then_some(())
    });
}
