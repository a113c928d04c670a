//! Schedules on nodes whose clocks differ, killed at the instant at which something is due.

use std::path::Path;

use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::ids::ExecutionId;
use sprag_core::time::Timestamp;
use sprag_tests::{Crowd, Ledger, Postgres, wait};

use super::{GUARD, apply};

/// Where Debian puts it.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const EVERY_MILLIS: i64 = 2_000;

/// The right time, five minutes ahead and five minutes behind; monotonic time is left as it is.
fn skewed() -> Vec<Vec<(String, String)>> {
    if !Path::new(FAKETIME).exists() {
        println!("skipped: libfaketime is missing, so all clocks agree; `make tools` installs it");
        return vec![Vec::new(); 3];
    }
    let skew = |by: &str| {
        let pairs = [
            ("LD_PRELOAD", FAKETIME),
            ("FAKETIME", by),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    };
    vec![Vec::new(), skew("+5m"), skew("-5m")]
}

fn machine(ledger: &Ledger) -> Value {
    json!({
        "id": "often",
        "initial": "active",
        "states": { "active": { "on": { "STOP": "stopped" } }, "stopped": { "type": "final" } },
        "actions": [{
            "actionId": "tick",
            "type": "webhook",
            "triggerState": "active",
            "schedule": { "cron": "*/2 * * * * *", "overlap": "allow", "catchUp": "all" },
            "config": { "url": format!("http://{}/tick", ledger.address()) },
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 20, "maxDelay": 200 },
        }],
    })
}

#[test]
fn every_occurrence_comes_once_although_clocks_differ_and_nodes_die_when_it_is_due() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(folder.path().join("ledger")).unwrap();
    let url = Postgres::shared().database();
    let name = url.rsplit('/').next().unwrap();
    let crowd = Crowd::start(&url, skewed());
    apply(&crowd, 0, &machine(&ledger));
    let clock = System::start(Timestamp::from_millis(0));
    let began = clock.now();
    let start = |node| {
        let answer = crowd
            .client(node)
            .post("/v1/executions", &json!({ "machine": "often" }))
            .unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["id"].as_str().unwrap().to_owned()
    };
    let ids: Vec<String> = (0..crowd.size()).map(start).collect();
    for node in 0..crowd.size() {
        for _ in 0..2 {
            until_due(&ledger);
        }
        crowd.kill(node);
        until_due(&ledger);
        crowd.restart(node);
    }
    crowd.until_shared();
    let mut occurrences = 0;
    for id in &ids {
        let path = format!("/v1/executions/{id}/messages");
        wait::until("the execution to stop", GUARD, || {
            let answer = crowd.client(0).post(&path, &json!({ "type": "STOP" })).ok()?;
            (answer.status == 200).then_some(())
        });
        occurrences += dense(name, id, (began, clock.now()));
    }
    println!("cron: {occurrences} occurrences on 3 nodes, each once");
}

/// Waits for the instant at which something is due: its effect arrives.
fn until_due(ledger: &Ledger) {
    let before = ledger.size();
    wait::until("an occurrence", GUARD, || (ledger.size() > before).then_some(()));
}

/// Each occurrence has one action, none is missing, and all are within the test by the right clock. How many.
fn dense(name: &str, id: &str, (began, ended): (Timestamp, Timestamp)) -> usize {
    let id = u128::from_be_bytes(id.parse::<ExecutionId>().unwrap().to_bytes());
    // When each was to be; when it ran may be a little later.
    let sql = format!(
        "SELECT convert_from(body, 'UTF8')::json ->> 'nominal' FROM action WHERE execution = '{id:032x}' ORDER BY 1"
    );
    let said = Postgres::shared().sql(name, &sql);
    let due: Vec<i64> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert!(due.len() > 4, "{due:?}");
    assert!(
        due.windows(2).all(|two| two[1] - two[0] == EVERY_MILLIS),
        "none twice, none missing: {due:?}"
    );
    assert!(
        due[0] > began.as_millis() && due[due.len() - 1] <= ended.as_millis(),
        "by the database's clock: {due:?} from {began:?} to {ended:?}"
    );
    due.len()
}
