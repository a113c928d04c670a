//! A limit on a key, which counts for all nodes together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use sprag_tests::{Postgres, Reply, Site, wait};

use super::{GUARD, apply, caller, nodes};

const LIMIT: usize = 5;
const EXECUTIONS: usize = 60;

#[test]
fn a_limit_on_a_key_holds_across_nodes() {
    if !Postgres::is_installed() {
        return;
    }
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let site = Site::start(move |_| {
        let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
        peak.fetch_max(at_once, Ordering::SeqCst);
        // Long enough for others to begin meanwhile, if they may.
        std::thread::sleep(Duration::from_millis(60));
        now.fetch_sub(1, Ordering::SeqCst);
        Reply::json(200, &json!({}))
    });
    let crowd = nodes(&Postgres::shared().database(), 3);
    let mut machine = caller("limited", &site);
    machine["actions"][0]["limits"] = json!([{ "key": "crm", "concurrency": LIMIT }]);
    apply(&crowd, 0, &machine);
    let mut ids = Vec::new();
    for number in 0..EXECUTIONS {
        let answer = crowd
            .client(number % 3)
            .post("/v1/executions", &json!({ "machine": "limited" }))
            .unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        ids.push(answer.body["id"].as_str().unwrap().to_owned());
    }
    for id in ids {
        wait::until("an execution to complete", GUARD, || {
            let answer = crowd.client(0).get(&format!("/v1/executions/{id}?wait=10s")).ok()?;
            (answer.body["status"] == "completed").then_some(())
        });
    }
    let most = most.load(Ordering::SeqCst);
    println!("{EXECUTIONS} executions on 3 nodes, at most {most} of them at once");
    assert!(most <= LIMIT, "{most} at once");
    assert_eq!(most, LIMIT, "the limit is made use of");
}
