//! Kill -9 under load, with an effect ledger outside: nothing acknowledged is lost, no repeat is unaccounted for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::ids::scatter;
use sprag_core::time::Timestamp;
use sprag_tests::{Arrival, Client, Ledger, Product, wait};

/// Kills in the ordinary run; `SPRAG_PROVE_KILLS` asks for more.
const KILLS: usize = 20;
/// Executions between two kills, on average; `SPRAG_PROVE_EXECUTIONS` asks for more in all.
const EXECUTIONS_A_KILL: usize = 30;
/// Promised: after a restart, the first action begins within this time.
const FIRST_ACTION_MILLIS: u64 = 1_000;
/// Threads that start executions.
const STARTERS: u64 = 4;
/// Before a start-and-settle counts as hung.
const GUARD: Duration = Duration::from_mins(2);

pub(crate) fn machine(ledger: &Ledger) -> Value {
    let call = |name: &str, path: &str| {
        json!({
            "actionId": name,
            "type": "webhook",
            "triggerState": name,
            "config": { "url": format!("http://{}{path}", ledger.address()), "payload": { "execution": "{{execution.id}}" } },
            "retryPolicy": { "maxAttempts": 1000, "baseDelay": 20, "maxDelay": 200 },
        })
    };
    json!({
        "id": "two-calls",
        "initial": "first",
        "states": {
            "first": { "on": { "done.first": "second" } },
            "second": { "on": { "done.second": "end" } },
            "end": { "type": "final" },
        },
        "actions": [call("first", "/first"), call("second", "/second")],
    })
}

#[test]
fn kill_nine_at_random_instants_loses_nothing_and_repeats_nothing_unaccounted() {
    let kills = from_environment("SPRAG_PROVE_KILLS").unwrap_or(KILLS);
    let executions = from_environment("SPRAG_PROVE_EXECUTIONS").unwrap_or(kills * EXECUTIONS_A_KILL);
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(folder.path().join("ledger")).unwrap();
    let storm = Storm::default();
    std::thread::scope(|scope| {
        for starter in 0..STARTERS {
            let storm = &storm;
            scope.spawn(move || storm.start_executions(starter));
        }
        storm.kill_repeatedly(folder.path(), &ledger, (kills, executions));
        storm.over.store(true, Ordering::SeqCst);
    });
    let product = start(folder.path());
    let acknowledged = storm.acknowledged.lock().unwrap().clone();
    assert!(
        acknowledged.len() >= executions,
        "{} of {executions}",
        acknowledged.len()
    );
    settle(&mut product.client(), &acknowledged);
    let actions = all_actions(&mut product.client());
    verify(&acknowledged, &actions, &ledger.arrivals().unwrap());
}

pub(crate) fn from_environment(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

fn start(folder: &Path) -> Product {
    Product::start(&folder.join("sprag.db"), &[])
}

/// Clients and kills at the same time.
#[derive(Default)]
struct Storm {
    over: AtomicBool,
    server: Mutex<Option<Arc<Product>>>,
    acknowledged: Mutex<Vec<String>>,
}

impl Storm {
    fn client(&self) -> Option<Client> {
        self.server.lock().unwrap().as_ref().map(|product| product.client())
    }

    /// Starts executions one after the other; whatever is answered 201 must never be lost.
    fn start_executions(&self, starter: u64) {
        let mut number = 0;
        let mut client = None;
        while !self.over.load(Ordering::SeqCst) {
            let Some(connected) = client.as_mut() else {
                client = self.client();
                std::thread::yield_now();
                continue;
            };
            let body = json!({ "machine": "two-calls", "key": format!("{starter}-{number}") });
            match Client::post(connected, "/v1/executions", &body) {
                Ok(answer) if answer.status == 201 => {
                    let id = answer.body["id"].as_str().unwrap().to_owned();
                    self.acknowledged.lock().unwrap().push(id);
                }
                Ok(answer) => assert!(matches!(answer.status, 404 | 503), "{answer:?}"),
                Err(_) => client = None,
            }
            number += 1;
        }
    }

    fn kill_repeatedly(&self, folder: &Path, ledger: &Ledger, (kills, executions): (usize, usize)) {
        let clock = System::start(Timestamp::from_millis(0));
        let mut seed = 7;
        let mut first_actions = Vec::new();
        for kill in 0..kills {
            let (begun_at, arrived) = (clock.now(), ledger.size());
            let product = start(folder);
            if kill == 0 {
                let answer = product.client().post("/v1/machines", &machine(ledger)).unwrap();
                assert_eq!(answer.status, 201, "{answer:?}");
            }
            let before = self.acknowledged.lock().unwrap().len();
            *self.server.lock().unwrap() = Some(Arc::new(product));
            wait::until("an action after the start", GUARD, || {
                (ledger.size() > arrived).then_some(())
            });
            first_actions.push(clock.now().since(begun_at));
            // A random amount of acknowledged work, so that the kill falls anywhere in it; the last life does the rest.
            seed = scatter(seed);
            let random = usize::try_from(seed).unwrap() % (2 * executions / kills) + 1;
            let more = if kill + 1 < kills {
                random
            } else {
                executions.saturating_sub(before)
            };
            wait::until("some starts to be acknowledged", GUARD, || {
                (self.acknowledged.lock().unwrap().len() >= before + more).then_some(())
            });
            let product = self.server.lock().unwrap().take();
            drop(product);
        }
        first_actions.sort_unstable();
        let (middle, last) = (first_actions[kills / 2], first_actions[kills - 1]);
        println!("{kills} starts: first action after {middle} ms in the middle, {last} ms at most");
        if std::env::var_os("SPRAG_PROVE").is_some() {
            assert!(last < FIRST_ACTION_MILLIS, "promised: the first action within a second");
        }
    }
}

/// Waits until every acknowledged execution is completed, and nothing moves any more: also those are running whose
/// acknowledgement was lost.
pub(crate) fn settle(client: &mut Client, acknowledged: &[String]) {
    for id in acknowledged {
        wait::until("an execution to complete", GUARD, || {
            let answer = client.get(&format!("/v1/executions/{id}?wait=10s")).unwrap();
            assert_eq!(answer.status, 200, "acknowledged, and lost: {id}: {answer:?}");
            (answer.body["status"] == "completed").then_some(())
        });
    }
    wait::until("all executions to end", GUARD, || {
        let answer = client.get("/v1/executions?status=running&limit=1").unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer.body["data"] == json!([])).then_some(())
    });
}

/// Every action there is, by id.
pub(crate) fn all_actions(client: &mut Client) -> BTreeMap<String, Value> {
    let mut actions = BTreeMap::new();
    let mut path = "/v1/actions?limit=500".to_owned();
    loop {
        let answer = client.get(&path).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        for action in answer.body["data"].as_array().unwrap() {
            actions.insert(action["id"].as_str().unwrap().to_owned(), action.clone());
        }
        match answer.body["nextCursor"].as_str() {
            Some(cursor) => path = format!("/v1/actions?limit=500&cursor={cursor}"),
            None => return actions,
        }
    }
}

/// Joins what arrived with what is stored; how many effects were repeats.
pub(crate) fn verify(acknowledged: &[String], actions: &BTreeMap<String, Value>, arrivals: &[Arrival]) -> usize {
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for arrival in arrivals {
        *by_key
            .entry(arrival.key.as_deref().expect("every effect has its key"))
            .or_default() += 1;
    }
    let mut repeats = 0;
    for (key, &count) in &by_key {
        let (id, generation) = key.split_once('.').expect("<action id>.<generation>");
        assert_eq!(generation, "0", "nobody edited a configuration");
        let action = actions
            .get(id)
            .unwrap_or_else(|| panic!("an effect without a stored action: {key}"));
        let attempts = action["attempts"].as_array().unwrap();
        assert!(
            count <= attempts.len(),
            "{count} effects of {} attempts: {action:#}",
            attempts.len()
        );
        repeats += count - 1;
        for attempt in &attempts[..attempts.len() - 1] {
            assert_ne!(
                attempt["outcome"], "done",
                "tried again although it was done: {action:#}"
            );
        }
    }
    for action in actions.values() {
        if action["status"] == "succeeded" {
            let key = action["idempotencyKey"].as_str().unwrap();
            assert!(by_key.contains_key(key), "succeeded without an effect: {action:#}");
        }
    }
    println!(
        "{} acknowledged, {} effects, {repeats} repeats, all accounted for",
        acknowledged.len(),
        arrivals.len()
    );
    repeats
}
