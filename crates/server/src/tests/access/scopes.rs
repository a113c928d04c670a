//! Tokens that are narrowed to machines, types and runners.

use serde_json::{Value, json};

use super::super::world::{DOOMED, ORDER};
use super::Guarded;

/// Whatever a program outside does, of two types.
const OUTSIDE: &str = r"
id: outside
initial: a
states: { a: { on: { done.one: b } }, b: { type: final } }
actions:
  - { actionId: one, type: render, runner: gpu, triggerState: a, config: {} }
  - { actionId: two, type: print, runner: gpu, triggerState: a, config: {} }
";

impl Guarded {
    async fn narrowed(&self, role: &str, scopes: Value) -> String {
        let name = format!("{role} {scopes}")
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(40)
            .collect::<String>();
        let created = self
            .create(&json!({"name": name, "roles": [role], "scopes": scopes}))
            .await;
        created["token"].as_str().unwrap().to_owned()
    }

    async fn apply(&self, token: &str, yaml: &str) -> super::Reply {
        let bearer = format!("Bearer {token}");
        let headers = [("Content-Type", "application/yaml"), ("Authorization", bearer.as_str())];
        self.world.send("POST", "/v1/machines", &headers, yaml.as_bytes()).await
    }
}

#[tokio::test]
async fn a_token_for_one_machine_touches_no_other() {
    let world = Guarded::start().await;
    world.apply(&world.admin, ORDER).await.expect(201);
    world.apply(&world.admin, DOOMED).await.expect(201);
    let only = world.narrowed("operator", json!({"machines": ["order"]})).await;
    let post = async |token: &str, path: &str, body: Value| world.send(token, "POST", path, &body).await;
    let order = json!({"machine": "order", "key": "A", "variables": {"amount": 1}});
    let doomed = json!({"machine": "doomed", "key": "A"});
    let mine = post(&only, "/v1/executions", order).await.expect(201);
    post(&only, "/v1/executions", doomed.clone())
        .await
        .problem("scope-missing");
    let theirs = post(&world.admin, "/v1/executions", doomed).await.expect(201);
    let (mine, theirs) = (mine["id"].as_str().unwrap(), theirs["id"].as_str().unwrap());
    for verb in ["messages", "pause", "resume", "cancel", "migrate", "replay"] {
        let body = if verb == "messages" {
            json!({"type": "PAY"})
        } else {
            json!({})
        };
        let path = |id: &str| format!("/v1/executions/{id}/{verb}");
        post(&only, &path(theirs), body.clone()).await.problem("scope-missing");
        assert_ne!(post(&only, &path(mine), body).await.status, 403, "{verb}");
    }
    let message = |machine: &str| json!({"machine": machine, "key": "A", "type": "END"});
    post(&only, "/v1/messages", message("doomed"))
        .await
        .problem("scope-missing");
    let actions = world
        .get(&world.admin, &format!("/v1/actions?executionId={theirs}"))
        .await
        .expect(200);
    let action = actions["data"][0]["id"].as_str().unwrap();
    for path in [
        format!("/v1/actions/{action}/retry-now"),
        format!("/v1/actions/{action}/cancel"),
        format!("/v1/dead-letters/{action}/retry"),
        format!("/v1/dead-letters/{action}/archive"),
    ] {
        post(&only, &path, json!({})).await.problem("scope-missing");
    }
    // What is about many at once is beyond any scope.
    post(
        &only,
        "/v1/dead-letters/retry",
        json!({"filter": "machine = \"order\""}),
    )
    .await
    .problem("scope-missing");
    let switch = json!({"scope": "all", "reason": "a test"});
    post(&only, "/v1/kill-switches", switch).await.problem("scope-missing");
    let author = world.narrowed("author", json!({"machines": ["order"]})).await;
    world
        .apply(&author, &ORDER.replace("shipped.", "sent."))
        .await
        .expect(201);
    world
        .apply(&author, &DOOMED.replace("nobody there", "nobody"))
        .await
        .problem("scope-missing");
    let admin = world.narrowed("admin", json!({"machines": ["order"]})).await;
    let wider = json!({"name": "wider", "roles": ["admin"]});
    post(&admin, "/v1/tokens", wider).await.problem("scope-missing");
}

#[tokio::test]
async fn a_runner_leases_and_reports_within_its_scope_only() {
    let world = Guarded::start().await;
    world.apply(&world.admin, OUTSIDE).await.expect(201);
    let started = json!({"machine": "outside"});
    world
        .send(&world.admin, "POST", "/v1/executions", &started)
        .await
        .expect(201);
    let render = world
        .narrowed("runner", json!({"types": ["render"], "runners": ["gpu"]}))
        .await;
    let print = world.narrowed("runner", json!({"types": ["print"]})).await;
    let poll = |types: &[&str], runner: Option<&str>| json!({"types": types, "runner": runner, "wait": "20s"});
    let lease = async |token: &str, body: Value| world.send(token, "POST", "/v1/runners/lease", &body).await;
    for body in [
        poll(&["print"], Some("gpu")),
        poll(&["render", "print"], Some("gpu")),
        poll(&["render"], Some("cpu")),
    ] {
        lease(&render, body).await.problem("scope-missing");
    }
    lease(&render, json!({"types": ["render"]}))
        .await
        .problem("scope-missing");
    let leased = lease(&render, poll(&["render"], Some("gpu"))).await.expect(200);
    let attempt = leased["attempts"][0]["id"].as_str().unwrap();
    let report = async |token: &str, verb: &str| {
        let path = format!("/v1/attempts/{attempt}/{verb}");
        let body = if verb == "fail" {
            json!({"error": {"type": "timeout"}})
        } else {
            json!({})
        };
        world.send(token, "POST", &path, &body).await
    };
    for verb in ["heartbeat", "complete", "fail"] {
        report(&print, verb).await.problem("scope-missing");
    }
    report(&render, "heartbeat").await.expect(200);
    report(&render, "complete").await.expect(200);
}

#[tokio::test]
async fn a_proposer_proposes_and_takes_back_within_its_scope_only() {
    let world = Guarded::start().await;
    let linger = json!({"operation": "linger", "riskLevel": "high", "action": {"type": "noop"}});
    world
        .send(&world.admin, "POST", "/v1/operations", &linger)
        .await
        .expect(201);
    let only = world.narrowed("proposer", json!({"operations": ["linger"]})).await;
    let wait = json!({"operation": "linger", "params": {}, "reason": "see"});
    let log = json!({"operation": "log_message", "params": {"message": "a"}, "reason": "see"});
    let path = "/v1/workflows";
    let made = world.send(&only, "POST", path, &wait).await.expect(201);
    world.send(&only, "POST", path, &log).await.problem("scope-missing");
    let other = world.narrowed("proposer", json!({"machines": ["order"]})).await;
    world.send(&other, "POST", path, &wait).await.problem("scope-missing");
    let operator = world.narrowed("operator", json!({"operations": ["log_message"]})).await;
    let cancel = format!("/v1/workflows/{}/cancel", made["id"].as_str().unwrap());
    let why = json!({"reason": "enough"});
    world
        .send(&operator, "POST", &cancel, &why)
        .await
        .problem("scope-missing");
    world.send(&world.admin, "POST", &cancel, &why).await.expect(200);
}
