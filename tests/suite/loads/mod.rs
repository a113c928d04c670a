//! Load tests that a server runs, on the real binary with real agents: started, followed, aborted, held, approved, interrupted.

mod agents;
mod nodes;
mod runs;
mod stops;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Product, Site, Stream, binary, store, wait};

use crate::agents::Agent;

/// A guard against hanging.
const GUARD: Duration = Duration::from_mins(2);

/// A server whose outbound guard lets loopback through.
fn up(folder: &Path, environment: &[(&str, &str)]) -> Product {
    Product::start(&folder.join("sprag.db"), environment)
}

/// A plan that calls a site with four users.
fn plan(site: &Site, duration: &str) -> Value {
    json!({
        "name": "suite",
        "workload": "http",
        "http": { "url": site.url("/load") },
        "concurrency": 4,
        "duration": duration,
    })
}

/// Starts a load test on these agents, and gives its id.
fn start(client: &mut Client, plan: &Value, agents: &[&Agent]) -> String {
    let agents: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let answer = client
        .post("/v1/loads", &json!({ "plan": plan, "agents": agents }))
        .unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

fn show(client: &mut Client, id: &str) -> Value {
    let answer = client.get(&format!("/v1/loads/{id}")).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// The load test once `holds` is true of it.
fn until(client: &mut Client, id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    wait::patiently(GUARD, || {
        last = show(client, id);
        holds(&last).then_some(())
    })
    .unwrap_or_else(|| panic!("waited in vain for {what}: {last:#}"));
    last
}

/// The load test once agents perform operations.
fn until_busy(client: &mut Client, id: &str) -> Value {
    until(client, id, "operations", |load| load["live"]["ops"].as_u64() > Some(0))
}

/// The load test once it has ended.
fn until_ended(client: &mut Client, id: &str) -> Value {
    until(client, id, "the end", |load| {
        let status = load["status"].as_str().unwrap();
        ["succeeded", "dead", "cancelled"].contains(&status)
    })
}

/// The events of a load test until it ends.
fn followed(product: &Product, id: &str) -> Vec<(String, Value)> {
    let stream = Stream::open(product.address(), &format!("/v1/loads/{id}/stream"), None).unwrap();
    let events: Vec<(String, Value)> = stream.map(|event| (event.name, event.data)).collect();
    assert_eq!(
        events.last().map(|(name, _)| name.as_str()),
        Some("ended"),
        "{events:?}"
    );
    events
}

fn sprag(product: &Product, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(arguments)
        .env("SPRAG_SERVER", format!("http://{}", product.address()))
        .current_dir(folder)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a short load on the agent, as often as it takes until the agent accepts it.
fn until_free(product: &Product, site: &Site, agent: &Agent) {
    let mut client = product.client();
    wait::until("the agent to take another run", GUARD, || {
        let id = start(&mut client, &plan(site, "500ms"), &[agent]);
        (until_ended(&mut client, &id)["status"] == "succeeded").then_some(())
    });
}

fn url(folder: &Path) -> String {
    store::url(&folder.join("sprag.db"))
}
