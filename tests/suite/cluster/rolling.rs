//! All nodes restarted, one after the other, under load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use sprag_core::clock::System;
use sprag_core::ids::scatter;
use sprag_core::time::Timestamp;
use sprag_tests::{Crowd, Ledger, Postgres, wait};

use super::{GUARD, Over, apply, nodes};
use crate::crash;

const NODES: usize = 3;
const CLIENTS: u64 = 4;
/// What `Retry-After` says.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// A client gives up after this, which would be noticed.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_rolling_restart_is_noticed_by_nobody_who_tries_again_and_repeats_nothing() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(folder.path().join("ledger")).unwrap();
    let crowd = nodes(&Postgres::shared().database(), NODES);
    apply(&crowd, 0, &crash::machine(&ledger));
    let load = Load::default();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (crowd, load) = (&crowd, &load);
            scope.spawn(move || load.start_executions(crowd, client));
        }
        let _over = Over(&load.over);
        for node in 0..NODES {
            let status = crowd.terminate(node).unwrap();
            assert!(status.success(), "{status:?}");
            crowd.restart(node);
            crowd.until_shared();
            load.until_more(10);
        }
    });
    let acknowledged = load.acknowledged.lock().unwrap().clone();
    let mut client = crowd.client(0);
    crash::settle(&mut client, &acknowledged);
    let repeats = crash::verify(
        &acknowledged,
        &crash::all_actions(&mut client),
        &ledger.arrivals().unwrap(),
    );
    let (longest, again) = *load.waited.lock().unwrap();
    println!(
        "rolling restart: {} starts, {again} tried again, {} of them because a node said so, the longest took {longest:?}",
        acknowledged.len(),
        load.refused.load(Ordering::SeqCst),
    );
    assert_eq!(repeats, 0, "what was under way ended before its node did");
}

#[derive(Default)]
struct Load {
    over: AtomicBool,
    acknowledged: Mutex<Vec<String>>,
    /// The longest that a start took, and how often one was tried again.
    waited: Mutex<(Duration, usize)>,
    /// How often a node that was there said that nobody decides on it just now.
    refused: AtomicUsize,
}

impl Load {
    /// Waits until so many more were started: the load continues beside the restarts.
    fn until_more(&self, more: usize) {
        let before = self.acknowledged.lock().unwrap().len();
        wait::until("starts to be acknowledged", GUARD, || {
            (self.acknowledged.lock().unwrap().len() >= before + more).then_some(())
        });
    }

    fn start_executions(&self, crowd: &Crowd, client: u64) {
        let mut number = 0;
        while !self.over.load(Ordering::SeqCst) {
            let id = self.start(crowd, &format!("{client}-{number}"));
            self.acknowledged.lock().unwrap().push(id);
            number += 1;
            std::thread::park_timeout(Duration::from_millis(25));
        }
    }

    /// Starts one as the documentation says: with a key, again after `Retry-After`, elsewhere if nobody listens.
    fn start(&self, crowd: &Crowd, key: &str) -> String {
        let clock = System::start(Timestamp::from_millis(0));
        let body = json!({ "machine": "two-calls", "key": key });
        let mut seed = scatter(u64::try_from(key.len()).unwrap() + u64::from(key.as_bytes()[key.len() - 1]));
        let mut tries = 0;
        loop {
            seed = scatter(seed);
            let node = usize::try_from(seed).unwrap() % NODES;
            let answer = crowd.client(node).post_once("/v1/executions", &body, key);
            tries += 1;
            match answer {
                Ok(answer) if answer.status == 201 => {
                    let mut waited = self.waited.lock().unwrap();
                    *waited = (waited.0.max(clock.elapsed()), waited.1 + tries - 1);
                    return answer.body["id"].as_str().unwrap().to_owned();
                }
                Ok(answer) => {
                    assert_eq!(answer.status, 503, "{answer:?}");
                    self.refused.fetch_add(1, Ordering::SeqCst);
                    std::thread::park_timeout(RETRY_AFTER);
                }
                Err(_) => std::thread::park_timeout(Duration::from_millis(50)),
            }
            assert!(clock.elapsed() < PATIENCE, "{key} was tried {tries} times");
        }
    }
}
