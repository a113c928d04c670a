//! Three real nodes on one real `PostgreSQL`: killed, stopped for longer than their lease, cut off, restarted one by one,
//! with clocks that differ; under load, with an effect ledger outside. Nothing acknowledged is lost, no repeat is
//! unaccounted for, and what is written too late is refused.

mod cron;
mod join;
mod letters;
mod limits;
mod rolling;
mod runners;
mod secured;
mod storm;
mod switches;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Crowd, Site};

/// Before anything counts as hung.
const GUARD: Duration = Duration::from_mins(3);
/// How long a node may be counted on after a heartbeat.
const LEASE: Duration = Duration::from_secs(10);
/// Promised: what a dead node had under way continues elsewhere within this time.
const TAKEN_OVER: Duration = Duration::from_secs(12);

/// Says that it is over, also when something panics: whoever makes load must not continue for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// So many nodes like any other.
fn nodes(url: &str, count: usize) -> Crowd {
    Crowd::start(url, vec![Vec::new(); count])
}

/// A machine that calls a site once and ends.
fn caller(id: &str, site: &Site) -> Value {
    json!({
        "id": id,
        "initial": "calling",
        "states": { "calling": { "on": { "done.call": "end" } }, "end": { "type": "final" } },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "calling",
            "config": { "url": site.url("/") },
            "timeout": "60s",
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 20, "maxDelay": 200 },
        }],
    })
}

fn apply(crowd: &Crowd, node: usize, machine: &Value) {
    let answer = crowd.client(node).post("/v1/machines", machine).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// Whether the long form was asked for, in which promised times are held to as well.
fn proves() -> bool {
    std::env::var_os("SPRAG_PROVE").is_some()
}
