//! Kill switches of the real binary: what they hold, how they let go of it, and what `kill -9` does to that.

#![expect(clippy::disallowed_methods, reason = "a rate is measured in real time")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sprag_tests::{Client, Product, Reply, Site, binary, store, wait};

const GUARD: Duration = Duration::from_mins(1);
/// Actions that a switch holds.
const HELD: usize = 30;
/// How many of them start in a second.
const RATE: usize = 10;

/// A machine that calls a site once, and says how that ended.
fn machine(site: &Site) -> Value {
    json!({
        "id": "order",
        "initial": "calling",
        "states": {
            "calling": { "on": { "done.call": "called", "failed.call": "skipped" } },
            "called": { "type": "final" },
            "skipped": { "type": "final" },
        },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "calling",
            "config": { "url": site.url("/") },
            "tags": ["night"],
        }],
    })
}

/// A site that writes down when calls come.
fn ledger() -> (Site, Arc<Mutex<Vec<Instant>>>) {
    let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = Arc::clone(&arrivals);
    let site = Site::start(move |_| {
        log.lock().unwrap().push(Instant::now());
        Reply::json(200, &json!({}))
    });
    (site, arrivals)
}

fn start(client: &mut Client, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let answer = client.post("/v1/executions", &json!({ "machine": "order" })).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        ids.push(answer.body["id"].as_str().unwrap().to_owned());
    }
    ids
}

fn sprag(product: &Product, arguments: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(arguments)
        .env("SPRAG_SERVER", format!("http://{}", product.address()))
        .output()
        .unwrap()
}

/// What a command that must succeed printed.
fn said(product: &Product, arguments: &[&str]) -> String {
    let output = sprag(product, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json_of(product: &Product, arguments: &[&str]) -> Value {
    serde_json::from_str(&said(product, &[arguments, &["--output", "json"]].concat())).unwrap()
}

fn up(folder: &Path) -> Product {
    Product::start_on(&store::url(&folder.join("sprag.db")), &[]).unwrap()
}

fn count(client: &mut Client, status: &str) -> usize {
    let path = format!("/v1/executions?limit=1000&status={status}");
    client.get(&path).unwrap().body["data"].as_array().unwrap().len()
}

fn until_gone(client: &mut Client) {
    wait::until("the switch to be gone", GUARD, || {
        let listed = client.get("/v1/kill-switches").unwrap().body;
        (listed["data"] == json!([])).then_some(())
    });
}

fn state(client: &mut Client, id: &str) -> Value {
    client.get(&format!("/v1/executions/{id}")).unwrap().body["configuration"].clone()
}

#[test]
fn a_release_survives_a_kill_and_keeps_to_its_rate() {
    for scope in ["all", "type:webhook", "machine:order", "tag:night"] {
        let folder = tempfile::tempdir().unwrap();
        let (site, arrivals) = ledger();
        let product = up(folder.path());
        let mut client = product.client();
        assert_eq!(client.post("/v1/machines", &machine(&site)).unwrap().status, 201);
        let on = json_of(&product, &["switch", "on", scope, "--reason", "too fast"]);
        let switch = on["id"].as_str().unwrap();
        start(&mut client, HELD);
        let shown = said(&product, &["switch", "show", switch]);
        assert!(shown.contains("waiting: 30\n"), "{scope}: {shown}");
        let released = Instant::now();
        let off = json_of(
            &product,
            &["switch", "off", switch, "--rate", "10/1s", "--reason", "slowly"],
        );
        assert_eq!(off["held"]["queued"]["total"], HELD, "{scope}: {off}");
        wait::until("some of them", GUARD, || {
            (arrivals.lock().unwrap().len() >= RATE / 2).then_some(())
        });
        product.kill();
        let product = up(folder.path());
        let mut client = product.client();
        let listed = client.get("/v1/kill-switches").unwrap().body;
        assert_eq!(listed["data"][0]["status"], "releasing", "{scope}: {listed}");
        wait::until("all of them", GUARD, || {
            (count(&mut client, "completed") == HELD).then_some(())
        });
        until_gone(&mut client);
        let arrivals = arrivals.lock().unwrap().clone();
        // The one under way at the kill may be made again.
        assert!(
            (HELD..HELD + 3).contains(&arrivals.len()),
            "{scope}: {}",
            arrivals.len()
        );
        for (number, arrival) in arrivals.iter().enumerate() {
            let most = arrival.duration_since(released).as_millis() * RATE as u128 / 1_000 + 5;
            assert!(
                u128::try_from(number).unwrap() < most,
                "{scope}: call {number} came too early"
            );
        }
        let least = Duration::from_millis(1_000 * (HELD as u64) / (RATE as u64) * 8 / 10);
        assert!(released.elapsed() >= least, "{scope}: {:?}", released.elapsed());
    }
}

#[test]
fn skipped_actions_are_cancelled_and_later_ones_run() {
    for scope in ["all", "machine:order"] {
        let folder = tempfile::tempdir().unwrap();
        let (site, arrivals) = ledger();
        let product = up(folder.path());
        let mut client = product.client();
        assert_eq!(client.post("/v1/machines", &machine(&site)).unwrap().status, 201);
        let on = json_of(&product, &["switch", "on", scope, "--reason", "wrong address"]);
        let switch = on["id"].as_str().unwrap();
        let held = start(&mut client, HELD);
        let off = said(
            &product,
            &["switch", "off", switch, "--held", "skip", "--reason", "sent by hand"],
        );
        assert!(off.contains("waiting: 30\n"), "{scope}: {off}");
        let later = start(&mut client, 3);
        wait::until("all of them to end", GUARD, || {
            (count(&mut client, "completed") == HELD + 3).then_some(())
        });
        for id in &held {
            assert_eq!(state(&mut client, id), json!(["skipped"]), "{scope}");
        }
        for id in &later {
            assert_eq!(state(&mut client, id), json!(["called"]), "{scope}");
        }
        assert_eq!(arrivals.lock().unwrap().len(), 3, "{scope}");
        until_gone(&mut client);
        let entries = client.get("/v1/audit").unwrap().body["data"].clone();
        let entry = &entries[0];
        assert_eq!(
            (&entry["verb"], &entry["reason"]),
            (&json!("switch.release"), &json!("sent by hand"))
        );
        assert_eq!(entry["after"], "released, held actions are cancelled", "{entry}");
    }
}

#[test]
fn an_expired_switch_lets_go_at_the_configured_rate() {
    let folder = tempfile::tempdir().unwrap();
    let (site, arrivals) = ledger();
    let url = store::url(&folder.path().join("sprag.db"));
    let product = Product::start_on(&url, &[("SPRAG_SWITCHES_RATE", "10/1s")]).unwrap();
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine(&site)).unwrap().status, 201);
    let arguments = ["switch", "on", "tag:night", "--for", "2s", "--reason", "for a moment"];
    said(&product, &arguments);
    let ids = start(&mut client, RATE);
    let explained = said(&product, &["explain", &ids[0]]);
    assert!(explained.contains("swi_"), "{explained}");
    wait::until("all of them", GUARD, || {
        (count(&mut client, "completed") == RATE).then_some(())
    });
    until_gone(&mut client);
    let arrivals = arrivals.lock().unwrap().clone();
    let span = arrivals[RATE - 1].duration_since(arrivals[0]);
    assert!(span >= Duration::from_millis(700), "{span:?}");
}
