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

/// A machine whose actions people must approve, with what takes them back.
const TRIP: &str = "
id: trip
initial: booking
states:
  booking: { on: { done.book: paying } }
  paying: { on: { done.pay: waiting } }
  waiting: { on: { GO: gone } }
  gone: { type: final }
actions:
  - { actionId: book, type: log_message, triggerState: booking, compensate: release, config: { message: booked } }
  - { actionId: pay, type: log_message, triggerState: paying, requiresApproval: true, compensate: refund,
      config: { message: 'paid for {{execution.id}}' } }
  - { actionId: release, type: log_message, config: { message: 'release after {{event.type}}' } }
  - { actionId: refund, type: log_message, riskLevel: high, config: { message: refund } }
";

/// A trip that waits for the approval of its payment, and the workflow of that.
async fn trip(world: &World) -> (String, Value) {
    world.apply(TRIP).await.expect(201);
    let execution = world.begin("trip").await;
    let action = world
        .action(&execution, |action| action["waiting"]["for"] == "approval")
        .await;
    let waiting = world.get("/v1/approvals").await.expect(200);
    let workflow = waiting["data"][0].clone();
    assert_eq!(action["waiting"]["object"], workflow["id"]);
    (execution, workflow)
}

async fn approve(world: &World, workflow: &Value) {
    let path = format!("/v1/workflows/{}/approve", workflow["id"].as_str().unwrap());
    world
        .post(&path, &json!({"digest": workflow["digest"]}))
        .await
        .expect(200);
}

#[tokio::test]
async fn an_action_of_a_machine_waits_for_approval_like_a_step() {
    let world = world().await;
    let (execution, workflow) = trip(&world).await;
    let shown = world.get(&format!("/v1/executions/{execution}")).await.expect(200);
    assert_eq!(shown["waiting"]["for"], "approval", "{shown:#}");
    let explained = world
        .get(&format!("/v1/executions/{execution}/explain"))
        .await
        .expect(200);
    assert_eq!(explained["waiting"]["object"], workflow["id"]);
    assert_eq!(
        (&workflow["name"], &workflow["proposer"], &workflow["executionId"]),
        (&json!("trip/pay"), &json!("machine:trip"), &json!(execution))
    );
    assert_eq!(workflow["steps"][0]["waiting"]["for"], "approval");
    let path = format!("/v1/workflows/{}/plan", workflow["id"].as_str().unwrap());
    let plan = world.get(&path).await.expect(200);
    let config = &plan["plan"]["steps"][0]["action"]["config"];
    assert_eq!(config["message"], format!("paid for {execution}"));
    assert_eq!(plan["lastRun"], Value::Null);
    approve(&world, &workflow).await;
    world
        .action(&execution, |action| {
            action["actionId"] == "pay" && action["status"] == "succeeded"
        })
        .await;
    until(&world, workflow["id"].as_str().unwrap(), "completed").await;
    // The next one of this name is compared with this run.
    let (_, next) = trip_again(&world).await;
    let path = format!("/v1/workflows/{}/plan", next["id"].as_str().unwrap());
    let plan = world.get(&path).await.expect(200);
    assert_eq!(plan["lastRun"], workflow["id"]);
    let changed: Vec<&str> = plan["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|change| change["path"].as_str())
        .collect();
    assert!(changed.contains(&"/steps/pay/action/config/message"), "{changed:?}");
}

async fn trip_again(world: &World) -> (String, Value) {
    let execution = world.begin("trip").await;
    world
        .action(&execution, |action| action["waiting"]["for"] == "approval")
        .await;
    let waiting = world.get("/v1/approvals").await.expect(200);
    (execution, waiting["data"][0].clone())
}

#[tokio::test]
async fn what_an_execution_did_is_taken_back_once_and_the_latest_first() {
    let world = world().await;
    let (execution, workflow) = trip(&world).await;
    let path = format!("/v1/executions/{execution}/compensate");
    world.command(&path).await.problem("status-conflict");
    approve(&world, &workflow).await;
    world
        .action(&execution, |action| {
            action["actionId"] == "pay" && action["status"] == "succeeded"
        })
        .await;
    world
        .command(&format!("/v1/executions/{execution}/cancel"))
        .await
        .expect(200);
    let why = [("Sprag-Reason", "the customer withdrew")];
    let made = world.send("POST", &path, &why, b"").await.expect(201);
    assert_eq!(
        (&made["reason"], &made["proposer"]),
        (&json!("the customer withdrew"), &json!("local"))
    );
    let steps: Vec<&str> = made["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["name"].as_str())
        .collect();
    assert_eq!(steps, ["refund", "release"], "the latest effect first");
    assert_eq!(made["steps"][1]["dependsOn"], json!(["refund"]));
    assert_eq!(
        made["status"], "awaiting_approval",
        "what takes back has a risk of its own"
    );
    let again = world.send("POST", &path, &why, b"").await.expect(200);
    assert_eq!(again["id"], made["id"], "one workflow, however often it is asked for");
    let id = made["id"].as_str().unwrap();
    world
        .post(&format!("/v1/workflows/{id}/reject"), &json!({"comment": "not yet"}))
        .await
        .expect(200);
    let made = world.send("POST", &path, &why, b"").await.expect(201);
    assert_ne!(made["id"].as_str().unwrap(), id, "a rejected one took nothing back");
}

#[tokio::test]
async fn compensations_of_low_risk_run_at_once_and_nothing_is_taken_back_twice() {
    let world = world().await;
    let text = TRIP
        .replace("requiresApproval: true, ", "")
        .replace("riskLevel: high, ", "");
    world.apply(&text).await.expect(201);
    let execution = world.begin("trip").await;
    world
        .action(&execution, |action| {
            action["actionId"] == "pay" && action["status"] == "succeeded"
        })
        .await;
    let path = format!("/v1/executions/{execution}/compensate");
    world.command(&path).await.problem("status-conflict");
    world
        .command(&format!("/v1/executions/{execution}/cancel"))
        .await
        .expect(200);
    let made = world.command(&path).await.expect(201);
    let done = until(&world, made["id"].as_str().unwrap(), "completed").await;
    assert_eq!(done["steps"][0]["status"], "succeeded");
    let problem = world.command(&path).await.problem("status-conflict");
    assert!(problem["detail"].as_str().unwrap().contains("no effect"), "{problem}");
}
