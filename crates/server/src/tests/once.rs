//! `Idempotency-Key`: one act, one answer. That every POST knows it is the matter of `posts`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::client::{Kept, Reply, request};
use super::world::{DOOMED, LATER, ORDER, World};

/// Requests in all, and how many at a time.
const REQUESTS: usize = 10_000;
const AT_ONCE: usize = 200;

impl World {
    pub(super) async fn once(&self, key: &str, path: &str, body: &Value) -> Reply {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// Sends it twice: the second answer is the first one again.
    async fn twice(&self, path: &str, body: &Value) -> Value {
        let first = self.once("k", path, body).await;
        assert_eq!(first.header("idempotent-replayed"), None, "{path}: {first:?}");
        let second = self.once("k", path, body).await;
        assert_eq!(second.header("idempotent-replayed"), Some("true"), "{path}: {second:?}");
        assert_eq!((second.status, &second.body), (first.status, &first.body), "{path}");
        assert_eq!(second.header("location"), first.header("location"), "{path}");
        first.json()
    }
}

fn order() -> Value {
    json!({"machine": "order", "variables": {"amount": 1}})
}

#[tokio::test]
async fn a_refusal_that_was_decided_is_replayed_with_its_status() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let keyed = json!({"machine": "order", "key": "red", "variables": {"amount": 1}});
    world.post("/v1/executions", &keyed).await.expect(201);
    let problem = world.twice("/v1/executions", &keyed).await;
    assert_eq!(problem["code"], "key-in-use");
}

#[tokio::test]
async fn another_body_under_the_key_is_refused_and_other_spacing_is_the_same_body() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let first = world.once("k", "/v1/executions", &order()).await.expect(201);
    let other = json!({"machine": "order", "variables": {"amount": 2}});
    let refused = world.once("k", "/v1/executions", &other).await;
    refused.problem("idempotency-key-reused");
    assert_eq!(refused.status, 422);
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
    let spaced = br#"{ "variables" : {"amount":1} , "machine":"order" }"#;
    let same = world.send("POST", "/v1/executions", &headers, spaced).await;
    assert_eq!(same.expect(201)["id"], first["id"]);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_before_anything_is_done() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    for key in ["", " ", "a b", &"k".repeat(256)] {
        let refused = world.once(key, "/v1/executions", &order()).await;
        refused.problem("idempotency-key-invalid");
        assert_eq!(refused.status, 400, "{key:?}");
    }
    let twice = [
        ("Content-Type", "application/json"),
        ("Idempotency-Key", "a"),
        ("Idempotency-Key", "b"),
    ];
    world
        .send("POST", "/v1/executions", &twice, order().to_string().as_bytes())
        .await
        .problem("idempotency-key-invalid");
    let list = world.get("/v1/executions").await.expect(200);
    assert_eq!(list["data"], json!([]));
}

#[tokio::test]
async fn the_check_of_a_migration_changes_nothing_and_ignores_the_key() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    for _ in 0..2 {
        let path = format!("/v1/executions/{id}/migrate");
        let reply = world.once("k", &path, &json!({"check": true})).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.header("idempotent-replayed"), None);
    }
}

#[tokio::test]
async fn a_repeated_start_that_waits_waits_again() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let body = json!({"machine": "doomed"});
    let first = world.once("k", "/v1/executions?wait=1ms", &body).await.expect(201);
    let id = first["id"].as_str().unwrap().to_owned();
    world.action(&id, |action| action["status"] == "dead").await;
    world
        .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "END"}))
        .await
        .expect(200);
    let again = world.once("k", "/v1/executions?wait=20s", &body).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.expect(201)["status"], "completed");
}

/// Sends the same request very often, on so many connections at a time, each of which is kept.
async fn storm(world: &World, headers: &'static [(&'static str, &'static str)], body: &Value) -> Vec<Reply> {
    let next = Arc::new(AtomicUsize::new(0));
    let closing = request("POST", "/v1/executions", headers, body.to_string().as_bytes());
    let kept = String::from_utf8(closing).unwrap().replace("Connection: close\r\n", "");
    let (address, kept) = (world.address, Arc::new(kept));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (next, kept) = (Arc::clone(&next), Arc::clone(&kept));
        clients.spawn(async move {
            let (mut connection, mut replies) = (Kept::open(address).await, Vec::new());
            while next.fetch_add(1, Ordering::SeqCst) < REQUESTS {
                replies.push(connection.send(kept.as_bytes()).await);
            }
            replies
        });
    }
    clients.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_starts_with_one_key_exactly_one_starts() {
    let world = World::start().await;
    world.apply(LATER).await.expect(201);
    let body = json!({"machine": "later", "key": "one"});
    let replies = storm(&world, &[("Content-Type", "application/json")], &body).await;
    let (started, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 201);
    assert_eq!((started.len(), refused.len()), (1, REQUESTS - 1));
    for reply in refused {
        reply.problem("key-in-use");
    }
    assert_eq!(executions(&world).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_starts_with_one_idempotency_key_get_one_answer() {
    let world = World::start().await;
    world.apply(LATER).await.expect(201);
    let body = json!({"machine": "later"});
    let headers = &[("Content-Type", "application/json"), ("Idempotency-Key", "one")];
    let replies = storm(&world, headers, &body).await;
    assert_eq!(replies.len(), REQUESTS);
    let answers: BTreeSet<(u16, &str)> = replies
        .iter()
        .map(|reply| (reply.status, reply.body.as_str()))
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|(status, _)| *status == 201));
    let acted = replies
        .iter()
        .filter(|reply| reply.header("idempotent-replayed").is_none());
    assert_eq!(acted.count(), 1);
    assert_eq!(executions(&world).await, 1);
}

async fn executions(world: &World) -> usize {
    let list = world.get("/v1/executions").await.expect(200);
    list["data"].as_array().unwrap().len()
}
