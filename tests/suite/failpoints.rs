//! The crash between every pair of store calls: enumerated, not sampled.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Ledger, Product, store, wait};

const GUARD: Duration = Duration::from_mins(1);
/// More calls than the scenario makes: the enumeration ends where the failpoint is not reached any more.
const CALLS_MAX: usize = 60;

fn machine(ledger: &Ledger) -> Value {
    json!({
        "id": "one-call",
        "initial": "calling",
        "states": {
            "calling": { "on": { "done.call": "resting" } },
            "resting": { "after": { "10": "end" } },
            "end": { "type": "final" },
        },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "calling",
            "config": { "url": format!("http://{}/", ledger.address()), "payload": {} },
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 10, "maxDelay": 20 },
        }],
    })
}

/// The calls a scenario makes to its store, with the least number of each that it cannot do without.
const CALLS: [(&str, usize); 4] = [("acquire", 1), ("commit", 5), ("load", 2), ("machine-version", 0)];

#[test]
fn a_crash_before_or_after_any_call_to_the_store_loses_nothing() {
    for (call, least) in CALLS {
        if call == "acquire" && !store::is_file("a node claims its shards, it does not acquire them") {
            continue;
        }
        for side in ["before", "after"] {
            let mut reached = 0;
            for number in 1..=CALLS_MAX {
                let folder = tempfile::tempdir().unwrap();
                if !crash_at(folder.path(), &format!("{side}-{call}:{number}")) {
                    break;
                }
                reached = number;
            }
            assert!(reached >= least, "{side}-{call}: only {reached} calls were reached");
            assert!(
                reached < CALLS_MAX,
                "{side}-{call}: the scenario is longer than the enumeration"
            );
            println!("{side}-{call}: {reached} crashes, each survived");
        }
    }
}

/// Runs the scenario with a failpoint, restarts after the crash, and checks the end. Says whether it crashed.
fn crash_at(folder: &Path, failpoint: &str) -> bool {
    let ledger = Ledger::start(folder.join("ledger")).unwrap();
    let store = folder.join("sprag.db");
    let mut acknowledged = None;
    let crashed = match Product::try_start(&store, &[("SPRAG_FAILPOINT", failpoint)]) {
        Err(_) => true,
        Ok(product) => {
            let outcome = drive(&product, &ledger, &mut acknowledged);
            if outcome.is_ok() {
                drop(product);
                false
            } else {
                product.ended(GUARD);
                true
            }
        }
    };
    if crashed {
        let product = Product::start(&store, &[]);
        let outcome = drive(&product, &ledger, &mut acknowledged);
        outcome.unwrap_or_else(|error| panic!("{failpoint}: {error}"));
    }
    crashed
}

/// Applies, starts, and waits for the end; continues from whatever was acknowledged before.
fn drive(product: &Product, ledger: &Ledger, acknowledged: &mut Option<String>) -> std::io::Result<()> {
    let mut client = product.client();
    let applied = client.post("/v1/machines", &machine(ledger))?;
    assert!(matches!(applied.status, 200 | 201), "{applied:?}");
    if acknowledged.is_none() {
        let started = client.post("/v1/executions", &json!({ "machine": "one-call", "key": "k" }))?;
        match started.status {
            201 => *acknowledged = started.body["id"].as_str().map(str::to_owned),
            // The start was durable, its answer was lost.
            409 => return Ok(()),
            _ => panic!("{started:?}"),
        }
    }
    let id = acknowledged.clone().unwrap_or_default();
    let mut failure = None;
    wait::until("the execution to complete", GUARD, || {
        match client.get(&format!("/v1/executions/{id}?wait=5s")) {
            Err(error) => {
                failure = Some(error);
                Some(())
            }
            Ok(answer) => {
                assert_eq!(answer.status, 200, "acknowledged, and lost: {answer:?}");
                (answer.body["status"] == "completed").then_some(())
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    check_effects(&mut client, ledger)
}

fn check_effects(client: &mut sprag_tests::Client, ledger: &Ledger) -> std::io::Result<()> {
    let arrivals = ledger.arrivals()?;
    let actions = client.get("/v1/actions?limit=100")?;
    for action in actions.body["data"].as_array().expect("a list") {
        let key = action["idempotencyKey"].as_str().expect("a key");
        let count = arrivals
            .iter()
            .filter(|arrival| arrival.key.as_deref() == Some(key))
            .count();
        let attempts = action["attempts"].as_array().map_or(0, Vec::len);
        assert!(
            count >= 1 && count <= attempts,
            "{count} effects of {attempts} attempts: {action:#}"
        );
    }
    Ok(())
}
