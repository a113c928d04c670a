//! What stops a load test, and what holds it: a person, kill switches, approval, `kill -9`, an agent that is gone.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, Site, wait};

use super::{Agent, GUARD, plan, show, start, until, until_busy, until_ended, until_free, up};
use crate::agents::target;

fn switch(client: &mut Client, scope: &str, mode: &str) -> String {
    let body = json!({ "scope": scope, "mode": mode, "reason": "suite" });
    let answer = client.post("/v1/kill-switches", &body).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

fn release(client: &mut Client, id: &str) {
    let answer = client
        .post(&format!("/v1/kill-switches/{id}/release"), &json!({}))
        .unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Waits until a site has no new visits for a while that is much longer than an operation.
fn until_quiet(site: &Site) {
    let mut seen = (usize::MAX, 0);
    wait::until("the load to stop", GUARD, || {
        let visits = site.visits().len();
        seen = if visits == seen.0 {
            (visits, seen.1 + 1)
        } else {
            (visits, 0)
        };
        (seen.1 >= 25).then_some(())
    });
}

#[test]
fn an_aborted_load_ends_on_its_agents_and_keeps_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let mut client = product.client();
    let id = start(&mut client, &plan(&site, "60s"), &agents.each_ref());
    until_busy(&mut client, &id);
    let watch = System::start(Timestamp::default());
    let answer = client.post(&format!("/v1/loads/{id}/abort"), &json!({})).unwrap();
    assert_eq!(
        (answer.status, &answer.body["cancelRequested"]),
        (200, &json!(true)),
        "{answer:?}"
    );
    let ended = until_ended(&mut client, &id);
    println!("loads: an aborted load ended after {:?}", watch.elapsed());
    assert_eq!(
        (&ended["status"], &ended["result"]["status"]),
        (&json!("cancelled"), &json!("ABORTED"))
    );
    assert!(ended["result"]["total"]["ops"].as_u64() > Some(0), "{ended:#}");
    until_quiet(&site);
    until_free(&product, &site, &agents[0]);
}

#[test]
fn a_switch_that_cancels_stops_running_agents_and_one_that_holds_prevents_starts() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agent = Agent::start(folder.path(), "a1");
    let mut client = product.client();
    let id = start(&mut client, &plan(&site, "60s"), &[&agent]);
    until_busy(&mut client, &id);
    let watch = System::start(Timestamp::default());
    let cancels = switch(&mut client, "type:load", "cancel");
    let ended = until_ended(&mut client, &id);
    until_quiet(&site);
    println!("loads: a switch stopped the agents within {:?}", watch.elapsed());
    assert_eq!(
        (&ended["status"], &ended["result"]["status"]),
        (&json!("cancelled"), &json!("ABORTED"))
    );
    // The promise is 16 s; a busy machine gets three times as long.
    assert!(watch.elapsed() < Duration::from_secs(48), "{:?}", watch.elapsed());
    release(&mut client, &cancels);

    let holds = switch(&mut client, "type:load", "hold");
    let before = site.visits().len();
    let held = start(&mut client, &plan(&site, "1s"), &[&agent]);
    let waits = until(&mut client, &held, "the switch", |load| {
        load["waiting"]["for"] == "killSwitch"
    });
    assert_eq!(
        (&waits["status"], &waits["waiting"]["object"]),
        (&json!("queued"), &json!(holds))
    );
    assert_eq!(site.visits().len(), before, "nothing starts");
    release(&mut client, &holds);
    assert_eq!(until_ended(&mut client, &held)["status"], "succeeded");
    assert!(site.visits().len() > before);
}

#[test]
fn a_load_that_is_the_step_of_an_operation_runs_once_it_is_approved() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[("SPRAG_APPROVAL_SELF_APPROVAL", "true")]);
    let agent = Agent::start(folder.path(), "a1");
    let mut client = product.client();
    let mut templated = plan(&site, "1s");
    templated["concurrency"] = json!("{{params.users}}");
    let operation = json!({
        "operation": "shop.load",
        "riskLevel": "high",
        "parameters": { "users": { "type": "integer", "required": true, "maximum": 10 } },
        "action": { "type": "load", "config": { "plan": templated, "agents": [agent.address] } },
    });
    let applied = client.post("/v1/operations", &operation).unwrap();
    assert_eq!(applied.status, 201, "{applied:?}");
    let body = json!({ "operation": "shop.load", "params": { "users": 3 }, "reason": "before the sale" });
    let proposed = client.post("/v1/workflows", &body).unwrap().body;
    assert_eq!(proposed["status"], "awaiting_approval", "{proposed:#}");
    assert_eq!(client.get("/v1/loads").unwrap().body["data"], json!([]));
    let id = proposed["id"].as_str().unwrap();
    let approval = json!({ "digest": proposed["digest"] });
    let approved = client.post(&format!("/v1/workflows/{id}/approve"), &approval).unwrap();
    assert_eq!(approved.status, 200, "{approved:?}");
    let done = wait::until("the workflow to end", GUARD, || {
        let workflow = client.get(&format!("/v1/workflows/{id}")).ok()?.body;
        (workflow["status"] != "in_progress").then_some(workflow)
    });
    assert_eq!(done["status"], "completed", "{done:#}");
    let step = &done["steps"][0];
    assert_eq!(step["result"]["status"], "COMPLETED");
    let load = show(&mut client, step["actionId"].as_str().unwrap());
    assert_eq!((&load["name"], &load["result"]), (&json!("suite"), &step["result"]));
    assert_eq!(client.get("/v1/loads").unwrap().body["data"][0]["id"], load["id"]);
    assert_eq!(
        load["result"]["total"]["ops"].as_u64(),
        Some(site.visits().len() as u64)
    );
}

#[test]
fn a_server_that_is_killed_loses_the_run_and_no_more_than_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agent = Agent::start(folder.path(), "a1");
    let mut client = product.client();
    let id = start(&mut client, &plan(&site, "60s"), &[&agent]);
    until_busy(&mut client, &id);
    product.kill();
    until_quiet(&site);
    let product: Product = up(folder.path(), &[]);
    let mut client = product.client();
    let ended = until_ended(&mut client, &id);
    assert_eq!(
        (&ended["status"], &ended["lastError"]["type"]),
        (&json!("dead"), &json!("crashed"))
    );
    let action: Value = client.get(&format!("/v1/actions/{id}")).unwrap().body;
    assert_eq!(
        action["attempts"].as_array().unwrap().len(),
        1,
        "it is not repeated unasked"
    );
    assert_eq!(action["attempts"][0]["outcome"], "unknown");
    until_free(&product, &site, &agent);
}

#[test]
fn a_load_whose_agent_is_killed_fails_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let [first, second] = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let mut client = product.client();
    let id = start(&mut client, &plan(&site, "60s"), &[&first, &second]);
    until(&mut client, &id, "operations of both", |load| {
        let agents = load["live"]["agents"].as_array();
        agents.is_some_and(|agents| agents.iter().all(|agent| agent["ops"].as_u64() > Some(0)))
    });
    second.kill();
    let ended = until_ended(&mut client, &id);
    assert_eq!(
        (&ended["status"], &ended["lastError"]["type"]),
        (&json!("dead"), &json!("load_failed"))
    );
    assert!(
        ended["lastError"]["message"].as_str().unwrap().contains("a2"),
        "{ended:#}"
    );
    let lost = &ended["result"]["agents"][1];
    assert_eq!((&lost["state"], &lost["partial"]), (&json!("LOST"), &json!(true)));
    assert!(lost["ops"].as_u64() > Some(0));
    until_free(&product, &site, &first);
}

#[test]
fn a_threshold_that_does_not_hold_fails_the_load_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agent = Agent::start(folder.path(), "a1");
    let mut client = product.client();
    let mut strict = plan(&site, "1s");
    strict["thresholds"] = json!({ "throughput": ">= 1000000" });
    let id = start(&mut client, &strict, &[&agent]);
    let ended = until_ended(&mut client, &id);
    assert_eq!(
        (&ended["status"], &ended["lastError"]["type"]),
        (&json!("dead"), &json!("threshold_broken"))
    );
    assert_eq!(ended["result"]["status"], "FAILED");
    assert_eq!(ended["result"]["thresholds"][0]["ok"], false);
    assert_eq!(ended["lastError"]["details"], Value::Null, "the result is shown once");
}
