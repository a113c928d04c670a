//! A kill switch over three nodes while calls are under way: none begins once the switch is effective, retries included. What it
//! held starts at the rate of its release, also when a node is killed meanwhile.

#![expect(clippy::disallowed_methods, reason = "a rate is measured in real time")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sprag_tests::{Client, Crowd, Postgres, Reply, Site, wait};

use super::{GUARD, apply, caller, nodes, proves};

const NODES: usize = 3;
/// Calls under way when the switch is put on.
const UNDER_WAY: usize = 60;
/// Held actions that start in a second.
const RATE: usize = 20;
/// The same in the long form.
const UNDER_WAY_LONG: usize = 1_000;
const RATE_LONG: usize = 100;
/// One of so many calls fails, and would be made again.
const FAILS: usize = 4;

/// A site that writes down when each call comes. While it is closed, nobody is answered.
struct Door {
    site: Site,
    is_open: Arc<AtomicBool>,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Door {
    /// One of [`FAILS`] of the first `failing` calls fails.
    fn start(failing: usize) -> Self {
        let (is_open, arrivals) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (gate, log): (_, Arc<Mutex<Vec<Instant>>>) = (Arc::clone(&is_open), Arc::clone(&arrivals));
        let calls = AtomicUsize::new(0);
        let site = Site::start(move |_| {
            log.lock().unwrap().push(Instant::now());
            let number = calls.fetch_add(1, Ordering::SeqCst);
            wait::until("leave to answer", GUARD, || gate.load(Ordering::SeqCst).then_some(()));
            let fails = number < failing && number.is_multiple_of(FAILS);
            Reply::json(if fails { 503 } else { 200 }, &json!({}))
        });
        Self {
            site,
            is_open,
            arrivals,
        }
    }

    fn arrived(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }
}

/// Starts executions, on every node in turn. Says what the last one of each waits for.
fn load(crowd: &Crowd, count: usize) -> Vec<Value> {
    let mut clients: Vec<_> = (0..NODES).map(|node| crowd.client(node)).collect();
    let mut waiting = vec![Value::Null; NODES];
    for number in 0..count {
        let node = number % NODES;
        let answer = clients[node]
            .post("/v1/executions", &json!({ "machine": "held" }))
            .unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        waiting[node] = answer.body["waiting"].clone();
    }
    waiting
}

fn held(client: &mut Client, switch: &str) -> Value {
    let answer = client.get(&format!("/v1/kill-switches/{switch}/held")).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn until_effective(client: &mut Client, switch: &str) {
    wait::until("the switch to be effective", GUARD, || {
        let answer = client.get(&format!("/v1/kill-switches/{switch}")).ok()?;
        (answer.body["status"] == "effective").then_some(())
    });
}

fn completed(client: &mut Client) -> usize {
    let mut count = 0;
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/executions?limit=1000&status=completed{cursor}");
        let Ok(answer) = client.get(&path) else { return 0 };
        let Some(data) = answer.body["data"].as_array() else {
            return 0;
        };
        count += data.len();
        match answer.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return count,
        }
    }
}

/// No more calls came in any time than the rate allows, with room for a small burst of each node.
fn assert_paced(arrivals: &[Instant], released: Instant, rate: usize, extra: usize) {
    for (number, arrival) in arrivals.iter().enumerate() {
        let seconds = arrival.duration_since(released).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let most = rate as f64 * (seconds * 1.1 + 0.5) + extra as f64;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let came = (number + 1) as f64;
        assert!(came <= most, "{came} calls within {seconds} s at {rate} a second");
    }
}

#[test]
fn no_call_begins_under_an_effective_switch_and_what_it_held_starts_at_the_rate() {
    if !Postgres::is_installed() {
        return;
    }
    let (under_way, rate) = if proves() {
        (UNDER_WAY_LONG, RATE_LONG)
    } else {
        (UNDER_WAY, RATE)
    };
    let door = Door::start(under_way);
    let crowd = nodes(&Postgres::shared().database(), NODES);
    crowd.until_shared();
    apply(&crowd, 0, &caller("held", &door.site));
    load(&crowd, under_way);
    wait::until("all calls to be under way", GUARD, || {
        (door.arrived() == under_way).then_some(())
    });

    let mut client = crowd.client(0);
    let body = json!({ "scope": "machine:held", "reason": "calls too much" });
    let switch = client.post("/v1/kill-switches", &body).unwrap();
    assert_eq!(switch.status, 201, "{switch:?}");
    let switch = switch.body["id"].as_str().unwrap().to_owned();
    until_effective(&mut client, &switch);
    assert_eq!(held(&mut client, &switch)["running"]["total"], under_way);
    for waiting in load(&crowd, under_way) {
        assert_eq!(
            (&waiting["for"], &waiting["object"]),
            (&json!("killSwitch"), &json!(switch))
        );
    }
    door.is_open.store(true, Ordering::SeqCst);
    let fails = under_way / FAILS;
    let listed = wait::until("the calls under way to end, and retries to be due", GUARD, || {
        let listed = held(&mut client, &switch);
        let is_so = listed["running"]["total"] == 0 && listed["queued"]["total"] == under_way + fails;
        is_so.then_some(listed)
    });
    assert_eq!(listed["queued"]["first"].as_array().unwrap().len(), 20, "{listed}");
    assert_eq!(completed(&mut client), under_way - fails);
    assert_eq!(door.arrived(), under_way, "a call began under the switch");

    let released = Instant::now();
    let release = json!({ "rate": { "count": rate, "per": "1s" }, "reason": "the receiver is back" });
    let answer = crowd
        .client(1)
        .post(&format!("/v1/kill-switches/{switch}/release"), &release)
        .unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["held"]["queued"]["total"], under_way + fails);
    wait::until("a third of what was held", GUARD, || {
        (door.arrived() >= under_way + under_way / 3).then_some(())
    });
    crowd.kill(2);
    crowd.restart(2);
    let mut client = crowd.client(0);
    wait::until("everything to complete", GUARD, || {
        (completed(&mut client) == 2 * under_way).then_some(())
    });
    let arrivals = door.arrivals.lock().unwrap().split_off(under_way);
    // A call that the dead node had under way may be made again.
    assert!(arrivals.len() >= under_way + fails, "{}", arrivals.len());
    assert_paced(&arrivals, released, rate, rate / 2);
    let took = released.elapsed();
    let least = Duration::from_secs(1) * u32::try_from(under_way + fails).unwrap() / u32::try_from(rate).unwrap();
    assert!(took >= least.mul_f64(0.8), "{took:?}");
    assert_gone(&mut client, &switch);
}

/// Nothing is left of the switch but what the audit says of it.
fn assert_gone(client: &mut Client, switch: &str) {
    wait::until("the switch to be gone", GUARD, || {
        let listed = client.get("/v1/kill-switches").ok()?;
        (listed.body["data"] == json!([])).then_some(())
    });
    let filter = format!("/v1/audit?filter=target%20%3D%20%22{switch}%22");
    let entries = client.get(&filter).unwrap().body["data"].clone();
    assert_eq!(entries[0]["verb"], "switch.release", "{entries}");
    assert_eq!(entries[0]["reason"], "the receiver is back");
}
