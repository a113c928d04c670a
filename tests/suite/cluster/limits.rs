//! A limit per key over three nodes: never more calls at once than it says, whichever nodes make them; and when one dies,
//! what is there beyond belongs to attempts of which nobody knows what became of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Crowd, Postgres, Reply, Site, wait};

use super::{GUARD, apply, nodes, proves};
use crate::crash;

const NODES: usize = 3;
/// What the machine allows at once.
const CONCURRENCY: usize = 5;
/// How many executions each node is given at once.
const EACH: usize = 15;
/// What a call takes.
const CALL: Duration = Duration::from_millis(20);
/// Rounds of the long form.
const ROUNDS: usize = 10;

/// A call comes or has been answered, under the attempt that makes it.
#[derive(Clone, Debug)]
enum Seen {
    Came(String),
    Left(String),
}

/// A site that writes down who is there. While it is closed, nobody is answered.
struct Door {
    site: Site,
    is_open: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Door {
    fn start() -> Self {
        let (is_open, seen) = (Arc::new(AtomicBool::new(true)), Arc::default());
        let (gate, log) = (Arc::clone(&is_open), Arc::clone(&seen));
        let log: Arc<Mutex<Vec<Seen>>> = log;
        let site = Site::start(move |visit| {
            let attempt = visit.header("attempt").unwrap_or_default().to_owned();
            log.lock().unwrap().push(Seen::Came(attempt.clone()));
            std::thread::park_timeout(CALL);
            wait::until("leave to answer", GUARD, || gate.load(Ordering::SeqCst).then_some(()));
            // Before the answer: whoever made the call cannot have gone on yet.
            log.lock().unwrap().push(Seen::Left(attempt));
            Reply::json(200, &json!({}))
        });
        Self { site, is_open, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The attempts whose call is being answered now.
    fn inside(&self) -> BTreeSet<String> {
        let mut inside = BTreeSet::new();
        for seen in self.seen() {
            match seen {
                Seen::Came(attempt) => inside.insert(attempt),
                Seen::Left(attempt) => inside.remove(&attempt),
            };
        }
        inside
    }

    fn until(&self, what: &str, is_so: impl Fn(usize) -> bool) {
        wait::until(what, GUARD, || is_so(self.inside().len()).then_some(()));
    }
}

/// The most that were there at once, of those that count.
fn most(seen: &[Seen], counts: impl Fn(&str) -> bool) -> usize {
    let (mut inside, mut most) = (0_usize, 0);
    for seen in seen {
        match seen {
            Seen::Came(attempt) if counts(attempt) => inside += 1,
            Seen::Left(attempt) if counts(attempt) => inside -= 1,
            Seen::Came(_) | Seen::Left(_) => {}
        }
        most = most.max(inside);
    }
    most
}

fn machine(door: &Door) -> Value {
    json!({
        "id": "limited",
        "initial": "calling",
        "states": { "calling": { "on": { "done.call": "end" } }, "end": { "type": "final" } },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "calling",
            "config": { "url": door.site.url("/"), "headers": { "attempt": "{{attempt.id}}" } },
            "limits": [{ "key": "crm", "concurrency": CONCURRENCY }],
            "timeout": "60s",
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 20, "maxDelay": 200 },
        }],
    })
}

/// Starts executions on every node; without keys, each is one of the node that was asked. Says which is whose.
fn load(crowd: &Crowd) -> BTreeMap<String, usize> {
    let mut owners = BTreeMap::new();
    let mut clients: Vec<_> = (0..NODES).map(|node| crowd.client(node)).collect();
    for _ in 0..EACH {
        for (node, client) in clients.iter_mut().enumerate() {
            let answer = client.post("/v1/executions", &json!({ "machine": "limited" })).unwrap();
            assert_eq!(answer.status, 201, "{answer:?}");
            owners.insert(answer.body["id"].as_str().unwrap().to_owned(), node);
        }
    }
    owners
}

/// The node that makes most of the calls that are being answered, and how many.
fn busiest(crowd: &Crowd, owners: &BTreeMap<String, usize>) -> (usize, usize) {
    let running = crowd.client(0).get("/v1/actions?status=running&limit=1000").unwrap();
    let rows = running.body["data"].as_array().unwrap().clone();
    let mut counts = [0; NODES];
    for row in rows {
        counts[owners[row["executionId"].as_str().unwrap()]] += 1;
    }
    let busiest = (0..NODES).max_by_key(|node| counts[*node]).unwrap();
    (busiest, counts[busiest])
}

/// How every attempt ended.
fn outcomes(crowd: &Crowd) -> BTreeMap<String, String> {
    let actions = crash::all_actions(&mut crowd.client(0));
    let attempts = actions
        .values()
        .flat_map(|action| action["attempts"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    attempts
        .map(|attempt| (text(&attempt["id"]), text(&attempt["outcome"])))
        .collect()
}

#[test]
fn a_limit_of_five_is_five_over_three_nodes_and_whatever_is_beyond_it_after_a_death_is_unknown() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), NODES);
    let door = Door::start();
    apply(&crowd, 0, &machine(&door));
    let rounds = if proves() { ROUNDS } else { 1 };
    let mut started = Vec::new();
    for round in 0..rounds {
        let mut owners = load(&crowd);
        door.is_open.store(false, Ordering::SeqCst);
        owners.extend(load(&crowd));
        door.until("as many as may call at once", |inside| inside >= CONCURRENCY);
        if round == 0 {
            assert_eq!(most(&door.seen(), |_| true), CONCURRENCY, "while everybody lives");
        }
        let (dead, lost) = busiest(&crowd, &owners);
        crowd.kill(dead);
        // What it had under way is unknown once others have taken over, and is tried again; its calls are still there.
        door.until("calls beyond the limit", |inside| inside == CONCURRENCY + lost);
        door.is_open.store(true, Ordering::SeqCst);
        crowd.restart(dead);
        crowd.until_shared();
        started.extend(owners.into_keys());
        crash::settle(&mut crowd.client(0), &started);
    }
    let outcomes = outcomes(&crowd);
    let unknown = outcomes.values().filter(|outcome| *outcome == "unknown").count();
    let known = |attempt: &str| outcomes[attempt] != "unknown";
    let seen = door.seen();
    let (all, most) = (most(&seen, |_| true), most(&seen, known));
    println!(
        "{} calls of {} executions, at most {all} at once; without the {unknown} unknown ones at most {most}",
        seen.len() / 2,
        started.len()
    );
    assert!(unknown > 0, "somebody died with calls under way");
    assert!(most <= CONCURRENCY, "{most} calls at once of attempts that nobody lost");
}
