//! Every code of a refusal, reached once through HTTP.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sprag_engine::Limits;
use sprag_engine::requests;

use super::client::Reply;
use super::world::{DOOMED, LATER, ORDER, Plan, World};
use crate::Code;
use crate::problem::HttpStatus as _;

/// Codes that other tests reach, or nobody yet.
const ELSEWHERE: [(&str, &str); 55] = [
    ("approval-expired", "the engine's tests of operations"),
    ("approval-missing", "the engine's tests of operations"),
    ("operation-unknown", "operations"),
    ("plan-changed", "operations"),
    ("proposals-full", "operations"),
    ("self-approval", "operations"),
    ("workflow-unknown", "operations"),
    ("attempt-superseded", "runners"),
    ("attempt-unknown", "runners"),
    ("backup-under-way", "operate"),
    ("backup-unsupported", "operate"),
    ("body-incomplete", "edges"),
    ("body-timeout", "edges"),
    ("edit-invalid", "dead_letters"),
    ("hook-unknown", "hooks"),
    ("hook-unmapped", "hooks"),
    ("hook-unverified", "handlers::hooks"),
    ("idempotency-key-invalid", "once"),
    ("idempotency-key-reused", "once"),
    ("internal-error", "edges"),
    ("agents-full", "loads"),
    ("load-plan-invalid", "loads"),
    ("limits-full", "the engine's tests of limits"),
    ("jobs-full", "the engine's own tests, which hold a lane still"),
    ("not-ready", "edges"),
    ("operation-refused", "workers"),
    ("overloaded", "faulty"),
    ("rate-limited", "access"),
    ("reason-invalid", "audit"),
    ("reason-missing", "audit"),
    ("record-damaged", "the whole-product tests of files"),
    ("role-missing", "access"),
    ("scope-missing", "access"),
    ("scope-unknown", "the whole-product tests of switches"),
    ("secret-unavailable", "hooks"),
    ("services-invalid", "workers"),
    ("shard-moved", "nodes"),
    ("shutting-down", "edges"),
    ("signature-invalid", "hooks"),
    ("simulation-too-large", "tools"),
    ("store-away", "faulty"),
    ("store-failed", "faulty"),
    ("store-full", "faulty"),
    ("store-read-only", "faulty"),
    ("store-refused", "faulty"),
    ("supervision-off", "workers"),
    ("supervisor-stopped", "workers"),
    ("switches-full", "the engine's tests of switches"),
    ("issuer-unreachable", "access/oidc/tests"),
    ("token-invalid", "access"),
    ("token-missing", "access"),
    ("tokens-full", "the engine's tests of tokens"),
    ("too-many-streams", "streams"),
    (
        "worker-leaving",
        "the supervisor's own tests, which hold a child that leaves",
    ),
    ("worker-unknown", "workers"),
];

fn small() -> Plan {
    let limits = Limits {
        message_bytes: 200,
        variables_bytes: 2_000,
        inbox: 1,
        ..Limits::default()
    };
    let plan = Plan::default();
    Plan {
        limits,
        options: crate::Options {
            body_bytes: 10_000,
            ..plan.options
        },
        ..Plan::default()
    }
}

struct Scene {
    world: World,
    open: String,
    paused: String,
    closed: String,
    moved: String,
    action: String,
}

impl Scene {
    async fn set() -> Self {
        let world = World::with(small()).await;
        for machine in [ORDER, DOOMED, LATER] {
            world.apply(machine).await.expect(201);
        }
        let moved = world.begin("order").await;
        world.apply(&ORDER.replace("open", "new")).await.expect(201);
        let body = json!({"machine": "order", "version": 1, "key": "K", "variables": {"amount": 1}});
        let open = world.post("/v1/executions", &body).await.expect(201)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let paused = world.begin("order").await;
        world
            .command(&format!("/v1/executions/{paused}/pause"))
            .await
            .expect(200);
        world
            .post(&format!("/v1/executions/{paused}/messages"), &json!({"type": "X"}))
            .await
            .expect(202);
        let closed = world.begin("order").await;
        world
            .command(&format!("/v1/executions/{closed}/cancel"))
            .await
            .expect(200);
        let later = world.begin("later").await;
        let action = world.action(&later, |_| true).await["id"].as_str().unwrap().to_owned();
        Self {
            world,
            open,
            paused,
            closed,
            moved,
            action,
        }
    }

    async fn message(&self, id: &str, message: Value) -> Reply {
        self.world
            .post(&format!("/v1/executions/{id}/messages"), &message)
            .await
    }

    async fn start(&self, body: Value) -> Reply {
        self.world.post("/v1/executions", &body).await
    }

    /// What the engine refuses.
    async fn engine_refusals(&self) -> Vec<(requests::Code, Reply)> {
        use requests::Code;
        let world = &self.world;
        let nothing = "00000000000000000000000000";
        let order = |more: Value| {
            let mut body = json!({"machine": "order", "version": 1, "variables": {"amount": 1}});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let pay = json!({"type": "PAY", "payload": {}});
        vec![
            (Code::MachineUnknown, self.start(json!({"machine": "nothing"})).await),
            (Code::VersionUnknown, self.start(order(json!({"version": 9}))).await),
            (
                Code::ExecutionUnknown,
                world.get(&format!("/v1/executions/exe_{nothing}")).await,
            ),
            (
                Code::ActionUnknown,
                world.get(&format!("/v1/actions/act_{nothing}")).await,
            ),
            (Code::JobUnknown, world.get(&format!("/v1/jobs/job_{nothing}")).await),
            (Code::FilterInvalid, world.get("/v1/executions?filter=x").await),
            (Code::DefinitionInvalid, world.apply("id: x").await),
            (Code::InputInvalid, self.start(json!({"machine": "order"})).await),
            (Code::KeyInUse, self.start(order(json!({"key": "K"}))).await),
            (
                Code::ExecutionClosed,
                self.message(&self.closed, json!({"type": "PAY"})).await,
            ),
            (
                Code::StatusConflict,
                world
                    .command(&format!("/v1/dead-letters/{}/archive", self.action))
                    .await,
            ),
            (
                Code::ReservedType,
                self.message(&self.open, json!({"type": "done.ship"})).await,
            ),
            (Code::DecisionFailed, self.message(&self.open, pay).await),
            (Code::InboxFull, self.message(&self.paused, json!({"type": "X"})).await),
            (
                Code::MigrationImpossible,
                world.command(&format!("/v1/executions/{}/migrate", self.moved)).await,
            ),
            (
                Code::MessageTooLarge,
                self.message(&self.open, json!({"type": "X", "payload": "x".repeat(300)}))
                    .await,
            ),
            (
                Code::VariablesTooLarge,
                self.start(order(json!({"variables": {"amount": "x".repeat(3_000)}})))
                    .await,
            ),
            (Code::NameInvalid, self.start(order(json!({"key": "a\0b"}))).await),
        ]
    }

    /// What the engine refuses operators.
    async fn operator_refusals(&self) -> Vec<(requests::Code, Reply)> {
        use requests::Code;
        let world = &self.world;
        let nothing = "00000000000000000000000000";
        vec![
            (
                Code::SwitchUnknown,
                world.get(&format!("/v1/kill-switches/swi_{nothing}")).await,
            ),
            (
                Code::TokenUnknown,
                world.command(&format!("/v1/tokens/tok_{nothing}/revoke")).await,
            ),
            (
                Code::LimitUnknown,
                world.send("DELETE", "/v1/limits/crm", &[], b"").await,
            ),
            (
                Code::PreconditionFailed,
                world
                    .send(
                        "PUT",
                        "/v1/limits/crm",
                        &[("Content-Type", "application/json"), ("If-Match", "\"7\"")],
                        b"{\"concurrency\": 1}",
                    )
                    .await,
            ),
        ]
    }

    /// What the server refuses.
    async fn server_refusals(&self) -> Vec<(Code, Reply)> {
        let world = &self.world;
        let json = [("Content-Type", "application/json")];
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        let large = format!("{{\"machine\": \"{}\"}}", "x".repeat(10_000));
        vec![
            (Code::BodyInvalid, self.start(json!({"machine": 5})).await),
            (
                Code::BodyTooDeep,
                world.send("POST", "/v1/executions", &json, deep.as_bytes()).await,
            ),
            (
                Code::BodyTooLarge,
                world.send("POST", "/v1/executions", &json, large.as_bytes()).await,
            ),
            (
                Code::BodyUnreadable,
                world.send("POST", "/v1/executions", &json, b"{").await,
            ),
            (Code::CursorInvalid, world.get("/v1/executions?cursor=x").await),
            (
                Code::DeadLetterUnknown,
                world.get(&format!("/v1/dead-letters/{}", self.action)).await,
            ),
            (
                Code::HostRefused,
                world.send("GET", "/v1/system", &[("Host", "evil.example")], b"").await,
            ),
            (
                Code::LastEventIdInvalid,
                world
                    .send(
                        "GET",
                        &format!("/v1/executions/{}/stream", self.open),
                        &[("Last-Event-ID", "x")],
                        b"",
                    )
                    .await,
            ),
            (
                Code::MediaTypeUnsupported,
                world.send("POST", "/v1/executions", &[], b"{}").await,
            ),
            (
                Code::MethodNotAllowed,
                world.send("DELETE", "/v1/executions", &[], b"").await,
            ),
            (
                Code::OriginRefused,
                world.send("GET", "/v1/system", &[("Origin", "null")], b"").await,
            ),
            (Code::PathInvalid, world.get("/v1/machines/%ff").await),
            (Code::QueryInvalid, world.get("/v1/executions?x=1").await),
            (Code::RouteUnknown, world.get("/v1/nothing").await),
        ]
    }
}

#[tokio::test]
async fn every_code_is_reached_through_http_with_its_own_status() {
    let scene = Scene::set().await;
    let mut reached: BTreeSet<&str> = ELSEWHERE.iter().map(|(code, _)| *code).collect();
    let mut refusals = scene.engine_refusals().await;
    refusals.extend(scene.operator_refusals().await);
    for (code, reply) in refusals {
        reply.problem(code.text());
        assert_eq!(reply.status, code.status(), "{reply:?}");
        assert!(reached.insert(code.text()));
    }
    for (code, reply) in scene.server_refusals().await {
        reply.problem(code.text());
        assert_eq!(reply.status, code.status(), "{reply:?}");
        assert!(reached.insert(code.text()));
    }
    let engine = requests::Code::ALL.iter().map(|code| code.text());
    let all: BTreeSet<&str> = engine.chain(Code::ALL.iter().map(|code| code.text())).collect();
    assert_eq!(reached, all);
}

#[tokio::test]
async fn refusals_point_at_what_is_wrong() {
    let scene = Scene::set().await;
    let problem = scene
        .start(json!({"machine": "order", "verison": 1, "tags": "x"}))
        .await
        .problem("body-invalid");
    assert_eq!(
        problem["errors"],
        json!([
            {"pointer": "/verison", "detail": "`verison` is not known here; did you mean `version`?"},
            {"pointer": "/tags", "detail": "`\"x\"` is not a list of texts"},
        ])
    );
    let problem = scene.start(json!({"machine": "order"})).await.problem("input-invalid");
    assert!(
        problem["errors"][0]["pointer"]
            .as_str()
            .unwrap()
            .starts_with("/variables"),
        "{problem}"
    );
    let problem = scene
        .world
        .command(&format!("/v1/executions/{}/pause", "nonsense"))
        .await
        .problem("execution-unknown");
    assert!(problem["detail"].as_str().unwrap().contains("`nonsense`"));
    let full = scene.message(&scene.paused, json!({"type": "X"})).await;
    assert_eq!(full.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn commands_without_fields_refuse_fields() {
    let scene = Scene::set().await;
    for command in ["pause", "resume", "cancel", "replay"] {
        let path = format!("/v1/executions/{}/{command}", scene.open);
        scene
            .world
            .post(&path, &json!({"force": true}))
            .await
            .problem("body-invalid");
    }
    let shown = scene
        .world
        .get(&format!("/v1/executions/{}", scene.open))
        .await
        .expect(200);
    assert_eq!(shown["status"], "running", "nothing was done");
}
