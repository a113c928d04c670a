//! Operations through HTTP: published, proposed, approved, run.

use serde_json::{Value, json};

use super::client::Reply;
use super::world::World;

const CATALOG: &str = "
operation: greet
riskLevel: high
parameters: { name: { type: string, required: true } }
action: { type: log_message, config: { message: 'hello {{params.name}}' } }
---
operation: stumble
riskLevel: low
action: { type: fail, config: { type: not_found, message: nobody there }, retryPolicy: { maxAttempts: 1 } }
";

async fn apply(world: &World, catalog: &str) -> Reply {
    let yaml = [("Content-Type", "application/yaml")];
    world.send("POST", "/v1/operations", &yaml, catalog.as_bytes()).await
}

async fn world() -> World {
    let world = World::start().await;
    apply(&world, CATALOG).await.expect(201);
    world
}

fn greet(name: &str) -> Value {
    json!({"operation": "greet", "params": {"name": name}, "reason": "politeness"})
}

/// The workflow once it has this status.
async fn until(world: &World, id: &str, status: &str) -> Value {
    let mut changes = world.handle.changes();
    loop {
        let workflow = world.get(&format!("/v1/workflows/{id}")).await.expect(200);
        if workflow["status"] == status {
            return workflow;
        }
        let _ = changes.recv().await;
    }
}

#[tokio::test]
async fn a_catalog_is_applied_whole_or_not_at_all() {
    let world = World::start().await;
    let applied = apply(&world, CATALOG).await.expect(201);
    assert_eq!(applied["data"][0]["version"], 1);
    assert_eq!(apply(&world, CATALOG).await.expect(200)["data"][0]["created"], false);
    let wrong =
        format!("{CATALOG}---\noperation: third\nsubject: nowhere\naction: {{ type: nonsense, config: {{}} }}\n");
    let problem = apply(&world, &wrong).await.problem("definition-invalid");
    assert!(problem["errors"].as_array().is_some() || problem["findings"].as_array().is_some());
    let listed = world.get("/v1/operations").await.expect(200);
    let names: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(names, ["greet", "stumble"]);
    let builtin = world.get("/v1/operations?kind=builtin").await.expect(200);
    assert_eq!(builtin["data"].as_array().unwrap().len(), 4);
    let shown = world.get("/v1/operations/greet").await.expect(200);
    assert_eq!((&shown["riskLevel"], &shown["version"]), (&json!("high"), &json!(1)));
    assert_eq!(shown["parameters"]["required"], json!(["name"]));
    world.get("/v1/operations/nothing").await.problem("operation-unknown");
}

#[tokio::test]
async fn a_plan_waits_for_the_approval_of_somebody_else() {
    let world = world().await;
    let made = world.post("/v1/workflows", &greet("ann")).await;
    let workflow = made.expect(201);
    let id = workflow["id"].as_str().unwrap();
    assert_eq!(made.header("location"), Some(format!("/v1/workflows/{id}").as_str()));
    assert_eq!(workflow["status"], "awaiting_approval");
    assert_eq!(workflow["steps"][0]["waiting"]["for"], "approval");
    assert_eq!(
        (&workflow["approval"]["required"], &workflow["approval"]["needed"]),
        (&json!(true), &json!(1))
    );
    let again = world.post("/v1/workflows", &greet("ann")).await.expect(200);
    assert_eq!(again["id"], workflow["id"]);
    let waiting = world.get("/v1/approvals").await.expect(200);
    assert_eq!(waiting["data"][0]["id"], workflow["id"]);
    let digest = workflow["digest"].as_str().unwrap();
    let path = format!("/v1/workflows/{id}/approve");
    world
        .post(&path, &json!({"digest": "0".repeat(64)}))
        .await
        .problem("plan-changed");
    world
        .post(&path, &json!({"digest": digest}))
        .await
        .problem("self-approval");
    let plan = world.get(&format!("/v1/workflows/{id}/plan")).await.expect(200);
    assert_eq!(
        (&plan["digest"], &plan["plan"]["proposer"]),
        (&json!(digest), &json!("local"))
    );
    let rejected = world
        .post(&format!("/v1/workflows/{id}/reject"), &json!({"comment": "not today"}))
        .await
        .expect(200);
    assert_eq!(rejected["status"], "rejected");
    assert_eq!(rejected["decisions"][0]["comment"], "not today");
    world
        .post(&path, &json!({"digest": digest}))
        .await
        .problem("status-conflict");
}

#[tokio::test]
async fn an_operation_that_needs_no_approval_runs_and_fails_and_is_resumed() {
    let world = world().await;
    let body = json!({"operation": "stumble", "params": {}, "reason": "to see it fall", "ticket": "T-1"});
    let workflow = world.post("/v1/workflows", &body).await.expect(201);
    let id = workflow["id"].as_str().unwrap();
    let failed = until(&world, id, "failed").await;
    assert_eq!(failed["steps"][0]["status"], "dead");
    assert_eq!(failed["steps"][0]["lastError"]["type"], "not_found");
    let path = format!("/v1/workflows/{id}/resume");
    world.post(&path, &json!({"reason": " "})).await.problem("body-invalid");
    world.post(&path, &json!({"reason": "again"})).await.expect(200);
    let failed = until(&world, id, "failed").await;
    assert_eq!(failed["decisions"][0]["what"], "resumed");
    let listed = world.get("/v1/workflows?ticket=T-1&status=failed").await.expect(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let cancelled = world
        .post(&format!("/v1/workflows/{id}/cancel"), &json!({"reason": "enough"}))
        .await
        .expect(200);
    assert_eq!(cancelled["status"], "cancelled");
    world.get("/v1/workflows/nonsense").await.problem("workflow-unknown");
}

#[tokio::test]
async fn a_flood_of_proposals_is_refused() {
    let world = world().await;
    for number in 0..20 {
        world
            .post("/v1/workflows", &greet(&number.to_string()))
            .await
            .expect(201);
    }
    world
        .post("/v1/workflows", &greet("more"))
        .await
        .problem("proposals-full");
    let page = world.get("/v1/approvals?limit=15").await.expect(200);
    let cursor = page["nextCursor"].as_str().unwrap();
    let rest = world
        .get(&format!("/v1/approvals?limit=15&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(rest["data"].as_array().unwrap().len(), 5);
}
