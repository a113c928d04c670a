//! A load test from its start to its result: the live stream, the result beside that of a local controller, the commands.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sprag_tests::Product;

use super::{Agent, followed, plan, said, show, sprag, start, until_ended, up};
use crate::agents::target;

fn members(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_load_of_the_server_is_followed_live_and_its_result_is_that_of_a_local_controller() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let results = folder.path().join("results");
    let product = up(folder.path(), &[("SPRAG_AGENTS_RESULTS", results.to_str().unwrap())]);
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let plan = plan(&site, "3s");
    let mut client = product.client();
    let id = start(&mut client, &plan, &agents.each_ref());
    assert!(id.starts_with("act_"), "a load test is an action: {id}");

    let events = followed(&product, &id);
    let figures: Vec<&Value> = events
        .iter()
        .filter(|(name, _)| name == "figures")
        .map(|(_, data)| data)
        .collect();
    assert!(figures.len() >= 2, "{events:?}");
    let ops: Vec<u64> = figures.iter().map(|data| data["ops"].as_u64().unwrap()).collect();
    assert!(ops.is_sorted() && ops.last() > Some(&0), "{ops:?}");
    assert_eq!(figures[0]["agents"].as_array().unwrap().len(), 2);
    let (_, ended) = events.last().unwrap();
    assert_eq!(
        (&ended["status"], &ended["name"]),
        (&json!("succeeded"), &json!("suite"))
    );
    let result = &ended["result"];
    assert_eq!(result["status"], "COMPLETED");
    assert_eq!(
        result["total"]["ops"].as_u64(),
        Some(site.visits().len() as u64),
        "{result:#}"
    );

    let listed = client.get("/v1/loads?status=succeeded").unwrap().body;
    assert_eq!(listed["data"][0]["id"], json!(id));
    assert_eq!(listed["data"][0]["result"], *result);
    let action = client.get(&format!("/v1/actions/{id}")).unwrap().body;
    assert_eq!(
        (&action["type"], &action["machine"]),
        (&json!("load"), &json!("sprag.load"))
    );

    let kept = std::fs::read_to_string(results.join(format!("{id}-1/result.json"))).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&kept).unwrap(),
        *result,
        "the files say the same"
    );
    assert!(results.join(format!("{id}-1/report.html")).is_file());

    std::fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    let named = format!("{},{}", agents[0].address, agents[1].address);
    let local = sprag(
        &product,
        folder.path(),
        &["load", "run", "plan.json", "--agents", &named, "--output", "json"],
    );
    assert_eq!(local.status.code(), Some(0), "{}", said(&local));
    let local: Value = serde_json::from_slice(&local.stdout).unwrap();
    assert_eq!(members(&local), members(result));
    assert_eq!(members(&local["total"]), members(&result["total"]));
    for member in ["status", "name", "planDigest"] {
        assert_eq!(local[member], result[member], "{member}");
    }
    drop(product);
}

#[test]
fn the_commands_start_watch_show_and_list_a_load_test() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agent = Agent::start(folder.path(), "a1");
    std::fs::write(folder.path().join("plan.yaml"), plan(&site, "1s").to_string()).unwrap();
    let start = [
        "load",
        "start",
        "plan.yaml",
        "--agents",
        &agent.address,
        "--output",
        "json",
    ];
    let started = sprag(&product, folder.path(), &start);
    assert_eq!(started.status.code(), Some(0), "{}", said(&started));
    let started: Value = serde_json::from_slice(&started.stdout).unwrap();
    let id = started["id"].as_str().unwrap();
    let watched = sprag(&product, folder.path(), &["load", "watch", id]);
    assert_eq!(watched.status.code(), Some(0), "{}", said(&watched));
    assert!(
        said(&watched).contains("ops") && said(&watched).contains("COMPLETED"),
        "{}",
        said(&watched)
    );
    let shown = sprag(&product, folder.path(), &["load", "show", id]);
    assert!(
        said(&shown).contains("suite") && said(&shown).contains("succeeded"),
        "{}",
        said(&shown)
    );
    let listed = sprag(&product, folder.path(), &["load", "list"]);
    assert!(said(&listed).contains(id), "{}", said(&listed));
    let again = sprag(&product, folder.path(), &["load", "abort", id]);
    assert!(said(&again).contains("status-conflict"), "{}", said(&again));
}

#[test]
fn a_request_that_no_attempt_could_run_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = Product::start_with(&folder.path().join("sprag.db"), &empty(folder.path()), &[]).unwrap();
    let mut client = product.client();
    let mut wrong = plan(&site, "1s");
    wrong["concurency"] = json!(1);
    let mut refused = |body: &Value| {
        let answer = client.post("/v1/loads", body).unwrap();
        assert_eq!(answer.status, 422, "{answer:?}");
        let pointer = answer.body["errors"][0]["pointer"].as_str().unwrap().to_owned();
        (answer.body["code"].as_str().unwrap().to_owned(), pointer)
    };
    let right = plan(&site, "1s");
    let table = [
        (
            json!({"plan": wrong, "agents": ["127.0.0.1:1"]}),
            "load-plan-invalid",
            "/plan/concurency",
        ),
        (
            json!({"plan": right, "agents": ["127.0.0.1:1"]}),
            "body-invalid",
            "/agents/0",
        ),
        (
            json!({"plan": right, "agents": ["nobody"]}),
            "body-invalid",
            "/agents/0",
        ),
        (json!({"plan": right, "agents": []}), "body-invalid", "/agents"),
        (json!({"plan": right}), "body-invalid", "/agents"),
        (json!({"agents": ["127.0.0.1:1"]}), "body-invalid", "/plan"),
    ];
    for (body, code, pointer) in &table {
        assert_eq!(refused(body), ((*code).to_owned(), (*pointer).to_owned()), "{body}");
    }
    assert_eq!(
        client.get("/v1/loads").unwrap().body["data"],
        json!([]),
        "nothing was started"
    );
    let answer = client.get("/v1/loads/act_01m7kydswteqea2dygh6x7t50q").unwrap();
    assert_eq!((answer.status, &answer.body["code"]), (404, &json!("action-unknown")));
}

fn empty(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("sprag.toml");
    std::fs::write(&path, "").unwrap();
    path
}

#[test]
fn two_loads_that_want_one_agent_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let product = up(folder.path(), &[]);
    let agent = Agent::start(folder.path(), "a1");
    let mut client = product.client();
    let first = start(&mut client, &plan(&site, "4s"), &[&agent]);
    super::until_busy(&mut client, &first);
    let second = start(&mut client, &plan(&site, "1s"), &[&agent]);
    let ended = until_ended(&mut client, &second);
    assert_eq!(
        (&ended["status"], &ended["lastError"]["type"]),
        (&json!("dead"), &json!("conflict"))
    );
    let message = ended["lastError"]["message"].as_str().unwrap();
    assert!(message.contains("busy") && message.contains(&first), "{message}");
    let action = client.get(&format!("/v1/actions/{second}")).unwrap().body;
    assert_eq!(
        action["attempts"].as_array().unwrap().len(),
        1,
        "one attempt is the default"
    );
    // A controller elsewhere is refused by the agent itself.
    std::fs::write(folder.path().join("plan.json"), plan(&site, "1s").to_string()).unwrap();
    let run = ["load", "run", "plan.json", "--agents", &agent.address];
    let local = sprag(&product, folder.path(), &run);
    assert!(said(&local).contains("busy"), "{}", said(&local));
    assert_eq!(until_ended(&mut client, &first)["status"], "succeeded");
    assert_eq!(show(&mut client, &first)["result"]["status"], "COMPLETED");
}
