//! The audit over HTTP: what is in it, why, from where, and that it checks.

use serde_json::{Value, json};
use sprag_core::integrity::audit::{Entry, Head, VerbSet, Verifier};
use sprag_engine::Asker;
use sprag_wire::{AuditEntry, AuditHeads, Page};

use super::client::Reply;
use super::filters::encoded;
use super::world::{ORDER, Plan, World};

impl World {
    /// A POST with a reason.
    async fn because(&self, path: &str, reason: &str, body: &Value) -> Reply {
        let headers = [("Content-Type", "application/json"), ("Sprag-Reason", reason)];
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// Entries that meet a filter, newest first.
    async fn audit(&self, filter: &str) -> Vec<AuditEntry> {
        let page = self
            .get(&format!("/v1/audit?filter={}", encoded(filter)))
            .await
            .expect(200);
        serde_json::from_value::<Page<AuditEntry>>(page).unwrap().data
    }

    async fn order(&self) -> String {
        let order = json!({"machine": "order", "variables": {"amount": 1}});
        let started = self.post("/v1/executions", &order).await.expect(201);
        started["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_decision_is_listed_with_its_reason_and_the_address_it_came_from() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.order().await;
    world
        .because(&format!("/v1/executions/{id}/cancel"), "customer called", &json!({}))
        .await
        .expect(200);
    let all = world.audit("verb != \"none\"").await;
    let verbs: Vec<&str> = all.iter().map(|entry| entry.verb.as_str()).collect();
    assert_eq!(
        verbs,
        ["execution.cancel", "machine.apply"],
        "a start by a program is history"
    );
    let cancelled = &all[0];
    assert_eq!(cancelled.reason.as_deref(), Some("customer called"));
    assert_eq!(cancelled.address.as_deref(), Some("127.0.0.1"));
    assert_eq!(
        (cancelled.principal.as_str(), cancelled.target.as_str()),
        ("local", id.as_str())
    );
    let filter = format!("target = \"{id}\" AND principal = \"local\" AND at > \"2020-01-01\" AND shard = 0");
    assert_eq!(world.audit(&filter).await.len(), 1);
    assert_eq!(world.audit("at < \"2020-01-01\"").await, []);
    assert_eq!(world.audit("principal = \"eve\"").await, []);
}

#[tokio::test]
async fn a_start_by_hand_has_a_reason() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let order = json!({"machine": "order", "variables": {"amount": 1}});
    let started = world
        .because("/v1/executions", "Kundenwunsch: größer", &order)
        .await
        .expect(201);
    let found = world.audit("verb = \"execution.start\"").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].target, started["id"].as_str().unwrap());
    assert_eq!(found[0].reason.as_deref(), Some("Kundenwunsch: größer"));
}

#[tokio::test]
async fn a_refused_decision_is_listed_with_its_code() {
    let world = World::start().await;
    let path = "/v1/executions/exe_01m7kydswteqea2dygh6x7t50q/pause";
    world.command(path).await.problem("execution-unknown");
    world.handle.operate().backup(&Asker::default()).await.unwrap();
    let refused = world.audit("refused = \"execution-unknown\"").await;
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].verb, "execution.pause");
    assert_eq!(world.audit("verb = \"system.backup\"").await.len(), 1);
}

#[tokio::test]
async fn a_verb_that_needs_a_reason_is_refused_without_one() {
    let mut reasons = VerbSet::default();
    reasons.add("execution").unwrap();
    reasons.add("system.backup").unwrap();
    let world = World::with(Plan {
        reasons,
        ..Plan::default()
    })
    .await;
    world.apply(ORDER).await.expect(201);
    let order = json!({"machine": "order", "variables": {"amount": 1}});
    world.post("/v1/executions", &order).await.problem("reason-missing");
    world
        .because("/v1/executions", " ", &order)
        .await
        .problem("reason-missing");
    world.command("/v1/system/backup").await.problem("reason-missing");
    world.because("/v1/executions", "a test", &order).await.expect(201);
    // What was not decided is not in the audit.
    assert_eq!(world.audit("verb = \"execution.start\"").await.len(), 1);
    assert_eq!(world.audit("verb = \"system.backup\"").await, []);
}

#[tokio::test]
async fn a_reason_that_is_none_is_refused() {
    let world = World::start().await;
    let long = "x".repeat(1_001);
    let order = json!({"machine": "order"});
    world
        .because("/v1/executions", &long, &order)
        .await
        .problem("reason-invalid");
    let twice = [("Sprag-Reason", "a"), ("Sprag-Reason", "b")];
    let reply = world.send("POST", "/v1/system/backup", &twice, b"").await;
    reply.problem("reason-invalid");
}

#[tokio::test]
async fn pages_of_the_audit_verify_against_the_heads() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    for _ in 0..7 {
        let id = world.order().await;
        world.command(&format!("/v1/executions/{id}/cancel")).await.expect(200);
    }
    let heads = world.get("/v1/audit/heads").await.expect(200);
    let heads: AuditHeads = serde_json::from_value(heads).unwrap();
    let exported = heads.heads.into_iter().map(|head| Head::try_from(head).unwrap());
    let mut verifier = Verifier::new(exported);
    let mut path = "/v1/audit?limit=3&filter=shard%20%3D%200".to_owned();
    loop {
        let page = world.get(&path).await.expect(200);
        let page: Page<AuditEntry> = serde_json::from_value(page).unwrap();
        assert!(page.data.len() <= 3);
        for entry in page.data {
            verifier.add(&Entry::try_from(entry).unwrap());
        }
        let Some(cursor) = page.next_cursor else { break };
        path = format!("/v1/audit?limit=3&filter=shard%20%3D%200&cursor={cursor}");
    }
    assert_eq!(verifier.finish(), Ok(8));
}
