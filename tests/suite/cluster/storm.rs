//! The storm: nodes die, stand still and come back, the database drops connections, and the load continues.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::ids::scatter;
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Crowd, Ledger, Postgres, Product, Proxy, Reply, Site, wait};

use super::{GUARD, LEASE, Over, TAKEN_OVER, apply, caller, nodes, proves};
use crate::crash;

const NODES: usize = 3;
/// Threads that start executions.
const STARTERS: u64 = 4;
/// Each rests between two starts: what matters here is not how many there are.
const STARTER_REST: Duration = Duration::from_millis(25);
/// A node that stands still answers nothing: what was not answered by then counts as unknown.
const STARTER_PATIENCE: Duration = Duration::from_secs(2);
/// Attempts that are under way on a node when it is stopped or killed.
const HELD: usize = 3;
/// Rounds of the long form, unless `SPRAG_PROVE_ROUNDS` says otherwise.
const ROUNDS: usize = 40;
const FENCED: &str = "sprag_commits_fenced_total";

#[test]
fn nodes_that_die_and_stand_still_lose_nothing_and_what_they_write_too_late_is_refused() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start();
    let database = cluster.database();
    let proxy = Proxy::start(([127, 0, 0, 1], cluster.port()).into()).unwrap();
    let url = database.replace(
        &format!(":{}/", cluster.port()),
        &format!(":{}/", proxy.address().port()),
    );
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(folder.path().join("ledger")).unwrap();
    let held = Held::start();
    let storm = Storm {
        crowd: nodes(&url, NODES),
        cluster: &cluster,
        proxy: &proxy,
        held: &held,
        name: database.rsplit('/').next().unwrap().to_owned(),
        over: AtomicBool::new(false),
        acknowledged: Mutex::default(),
        fenced: Mutex::default(),
    };
    apply(&storm.crowd, 0, &crash::machine(&ledger));
    // An answered apply is known everywhere at once.
    apply(&storm.crowd, 1, &caller("held", &held.site));
    std::thread::scope(|scope| {
        for starter in 0..STARTERS {
            let storm = &storm;
            scope.spawn(move || storm.start_executions(starter));
        }
        // Whatever fails in here must not leave the starters going for ever.
        let _over = Over(&storm.over);
        storm.blow();
    });
    storm.verify(&ledger);
}

/// A site that keeps the first call of each action waiting until it is told otherwise.
struct Held {
    site: Site,
    is_open: Arc<AtomicBool>,
}

impl Held {
    fn start() -> Self {
        let is_open = Arc::new(AtomicBool::new(false));
        let (gate, seen) = (Arc::clone(&is_open), Mutex::new(BTreeSet::new()));
        let site = Site::start(move |visit| {
            let key = visit.header("idempotency-key").unwrap_or_default().to_owned();
            if seen.lock().unwrap().insert(key) {
                wait::until("leave to answer", GUARD, || gate.load(Ordering::SeqCst).then_some(()));
            }
            Reply::json(200, &json!({}))
        });
        Self { site, is_open }
    }

    fn until_visits(&self, count: usize) {
        wait::until(&format!("{count} calls"), GUARD, || {
            (self.site.visits().len() >= count).then_some(())
        });
    }
}

struct Storm<'a> {
    crowd: Crowd,
    cluster: &'a Postgres,
    proxy: &'a Proxy,
    held: &'a Held,
    /// Of the database.
    name: String,
    over: AtomicBool,
    acknowledged: Mutex<Vec<String>>,
    /// Stale commits that were refused, of nodes that are gone by now.
    fenced: Mutex<u64>,
}

impl Storm<'_> {
    /// Starts executions one after the other, each on some node; whatever is answered 201 must never be lost.
    fn start_executions(&self, starter: u64) {
        let mut seed = scatter(starter + 1);
        let client = |node| Client::within(self.crowd.address(node), STARTER_PATIENCE);
        let mut clients: Vec<Client> = (0..NODES).map(client).collect();
        let mut number = 0;
        while !self.over.load(Ordering::SeqCst) {
            seed = scatter(seed);
            let node = usize::try_from(seed).unwrap() % NODES;
            let body = json!({ "machine": "two-calls", "key": format!("{starter}-{number}") });
            match clients[node].post("/v1/executions", &body) {
                Ok(answer) if answer.status == 201 => {
                    let id = answer.body["id"].as_str().unwrap().to_owned();
                    self.acknowledged.lock().unwrap().push(id);
                }
                Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
                Err(_) => clients[node] = client(node),
            }
            number += 1;
            std::thread::park_timeout(STARTER_REST);
        }
    }

    /// The storm itself. The short form: one node stands still and one dies at the same time, then each comes back.
    fn blow(&self) {
        let (dead, still, left) = (0, 1, 2);
        for node in [dead, still] {
            self.hold(node);
        }
        self.held.until_visits(2 * HELD);
        let clock = System::start(Timestamp::from_millis(0));
        self.crowd.with(still, Product::pause);
        self.crowd.kill(dead);
        self.cut_sessions(2);
        // Each of those attempts continues elsewhere: it is made again, because nobody knows what became of it.
        self.held.until_visits(4 * HELD);
        let took = clock.elapsed();
        println!(
            "{} attempts of a dead node and one that stood still continued after {took:?}",
            2 * HELD
        );
        if proves() {
            assert!(took < TAKEN_OVER, "promised: within {TAKEN_OVER:?}");
        }
        self.proxy.cut_after_commits(2);
        self.until_more(20);
        wait::until("two connections to be cut", GUARD, || {
            (self.proxy.cuts() >= 2).then_some(())
        });
        // What it asked before it stood still is answered now, too late.
        self.held.is_open.store(true, Ordering::SeqCst);
        self.crowd.with(still, Product::go_on);
        self.crowd.restart(dead);
        self.crowd.until_shared();
        self.kill_and_restart(left);
        if proves() {
            self.rage(crash::from_environment("SPRAG_PROVE_ROUNDS").unwrap_or(ROUNDS));
        }
        self.crowd.until_shared();
        self.until_more(20);
    }

    /// Has some attempts under way on a node.
    fn hold(&self, node: usize) {
        let mut client = self.crowd.client(node);
        for _ in 0..HELD {
            let answer = client.post("/v1/executions", &json!({ "machine": "held" })).unwrap();
            assert_eq!(answer.status, 201, "{answer:?}");
            let id = answer.body["id"].as_str().unwrap().to_owned();
            self.acknowledged.lock().unwrap().push(id);
        }
    }

    /// The long form: one trouble after the other, in an order that a seed decides.
    fn rage(&self, rounds: usize) {
        let mut seed = 11;
        for round in 0..rounds {
            seed = scatter(seed);
            let node = usize::try_from(seed >> 8).unwrap() % NODES;
            match seed % 6 {
                0 => self.kill_and_restart(node),
                1 => {
                    self.keep_count(node);
                    self.crowd.kill(node);
                    self.until_orphaned(node);
                    self.crowd.restart(node);
                }
                2 => {
                    self.crowd.with(node, Product::pause);
                    self.until_orphaned(node);
                    self.crowd.with(node, Product::go_on);
                }
                3 => self.cut_sessions(5),
                4 => {
                    let before = self.proxy.cuts();
                    self.proxy.cut_after_commits(5);
                    wait::until("connections to be cut", GUARD, || {
                        (self.proxy.cuts() >= before + 5).then_some(())
                    });
                }
                _ => {
                    self.cluster.crash();
                    self.cluster.restart();
                }
            }
            self.until_more(10);
            println!(
                "round {round} of {rounds}: {} acknowledged",
                self.acknowledged.lock().unwrap().len()
            );
        }
    }

    fn kill_and_restart(&self, node: usize) {
        self.keep_count(node);
        self.crowd.kill(node);
        self.crowd.restart(node);
        self.until_more(10);
    }

    /// Keeps what a node counted before it goes.
    fn keep_count(&self, node: usize) {
        *self.fenced.lock().unwrap() += self.crowd.metric(node, FENCED).unwrap_or(0);
    }

    /// Waits until nothing is a node's any more.
    fn until_orphaned(&self, node: usize) {
        let advertised = format!("http://{}", self.crowd.address(node));
        let other = (node + 1) % NODES;
        wait::until("others to take over", GUARD + LEASE, || {
            let view = self.crowd.view(other)?;
            let nodes = view["nodes"].as_array()?;
            let owns = |node: &Value| node["advertise"] == advertised.as_str() && node["shards"] != 0;
            (!nodes.iter().any(owns)).then_some(())
        });
    }

    /// Ends some connections to the database, whoever has them.
    fn cut_sessions(&self, count: usize) {
        let sql = format!(
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid() ORDER BY random() LIMIT {count}) AS chosen"
        );
        self.cluster.sql(&self.name, &sql);
    }

    /// Waits until so many more starts are acknowledged: the nodes that are left continue.
    fn until_more(&self, more: usize) {
        let before = self.acknowledged.lock().unwrap().len();
        wait::until("starts to be acknowledged", GUARD, || {
            (self.acknowledged.lock().unwrap().len() >= before + more).then_some(())
        });
    }

    fn verify(&self, ledger: &Ledger) {
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        let mut client = self.crowd.client(0);
        crash::settle(&mut client, &acknowledged);
        let mut actions = crash::all_actions(&mut client);
        for action in actions.values().filter(|action| action["actionId"] == "call") {
            let attempts = action["attempts"].as_array().unwrap();
            let key = action["idempotencyKey"].as_str().unwrap();
            let visits = self.held.site.visits();
            let made = visits
                .iter()
                .filter(|visit| visit.header("idempotency-key") == Some(key))
                .count();
            assert!(made <= attempts.len(), "{made} calls of {action:#}");
        }
        actions.retain(|_, action| action["actionId"] != "call");
        crash::verify(&acknowledged, &actions, &ledger.arrivals().unwrap());
        let now: u64 = (0..NODES).filter_map(|node| self.crowd.metric(node, FENCED)).sum();
        let fenced = *self.fenced.lock().unwrap() + now;
        println!(
            "cluster: {fenced} stale commits refused, {} connections cut after COMMIT",
            self.proxy.cuts()
        );
        // Whether a node that wakes writes first or learns first that it is too late is up to the scheduler: once it may
        // learn, not over and over again.
        assert!(fenced > 0 || !proves(), "nobody tried to write too late");
    }
}
