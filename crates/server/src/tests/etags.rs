//! `ETag`, `If-Match` and `If-None-Match`: two people and one machine.

use serde_json::json;

use super::client::Reply;
use super::world::{ORDER, World};

impl World {
    async fn apply_if(&self, yaml: &str, name: &str, value: &str) -> Reply {
        let headers = [("Content-Type", "application/yaml"), (name, value)];
        self.send("POST", "/v1/machines", &headers, yaml.as_bytes()).await
    }

    async fn newest(&self) -> u64 {
        let shown = self.get("/v1/machines/order").await.expect(200);
        shown["version"].as_u64().unwrap()
    }
}

fn order(text: &str) -> String {
    ORDER.replace("An order", text)
}

#[tokio::test]
async fn a_machine_is_applied_only_over_the_version_that_was_seen() {
    let world = World::start().await;
    let first = world.apply(ORDER).await;
    assert_eq!(first.header("etag"), Some("\"1\""));
    let seen = world.get("/v1/machines/order").await;
    assert_eq!(seen.header("etag"), Some("\"1\""));
    let ours = world.apply_if(&order("Ours"), "If-Match", "\"1\"").await;
    assert_eq!((ours.status, ours.header("etag")), (201, Some("\"2\"")));
    // Somebody else saw version 1 too.
    let theirs = world.apply_if(&order("Theirs"), "If-Match", "\"1\"").await;
    let problem = theirs.problem("precondition-failed");
    assert_eq!(theirs.status, 412);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("machine `order` is at revision 2"), "{detail}");
    assert_eq!(world.newest().await, 2);
    for value in ["\"9\"", "W/\"2\"", "2", "\"x\""] {
        let refused = world.apply_if(&order("Theirs"), "If-Match", value).await;
        refused.problem("precondition-failed");
    }
    world.apply_if(&order("Theirs"), "If-Match", "\"2\"").await.expect(201);
    world.apply_if(&order("Again"), "If-Match", "*").await.expect(201);
}

#[tokio::test]
async fn a_machine_that_must_not_be_there_yet_is_made_once() {
    let world = World::start().await;
    let missing = world.apply_if(ORDER, "If-Match", "*").await;
    assert!(
        missing.problem("precondition-failed")["detail"]
            .as_str()
            .unwrap()
            .contains("machine `order` does not exist")
    );
    world.apply_if(ORDER, "If-None-Match", "*").await.expect(201);
    let again = world.apply_if(&order("Another"), "If-None-Match", "*").await;
    again.problem("precondition-failed");
    assert_eq!(world.newest().await, 1);
}

#[tokio::test]
async fn a_repeat_under_a_key_gets_the_first_answer_though_the_version_is_another_now() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let headers = [
        ("Content-Type", "application/yaml"),
        ("If-Match", "\"1\""),
        ("Idempotency-Key", "k"),
    ];
    let definition = order("Once");
    for replayed in [None, Some("true")] {
        let reply = world
            .send("POST", "/v1/machines", &headers, definition.as_bytes())
            .await;
        assert_eq!((reply.status, reply.header("idempotent-replayed")), (201, replayed));
    }
    let other = [headers[0], ("If-Match", "\"2\""), headers[2]];
    world
        .send("POST", "/v1/machines", &other, definition.as_bytes())
        .await
        .problem("idempotency-key-reused");
}

#[tokio::test]
async fn whoever_has_the_newest_version_is_not_sent_it_again() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    for path in ["/v1/machines/order", "/v1/machines/order/versions/1"] {
        for tag in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"] {
            let reply = world.send("GET", path, &[("If-None-Match", tag)], b"").await;
            assert_eq!((reply.status, reply.body.as_str()), (304, ""), "{path} {tag}");
            assert_eq!(reply.header("etag"), Some("\"1\""), "{path} {tag}");
        }
    }
    world.apply(&order("The next")).await.expect(201);
    let headers = [("If-None-Match", "\"1\"")];
    let newer = world.send("GET", "/v1/machines/order", &headers, b"").await;
    assert_eq!(newer.expect(200)["version"], 2);
    world
        .send("GET", "/v1/machines/none", &headers, b"")
        .await
        .problem("machine-unknown");
}

#[tokio::test]
async fn a_limit_that_must_not_be_there_yet_is_overridden_once() {
    let world = World::start().await;
    let put = |headers: &'static [(&'static str, &'static str)]| {
        let body = json!({"concurrency": 1}).to_string();
        let world = &world;
        async move { world.send("PUT", "/v1/limits/crm", headers, body.as_bytes()).await }
    };
    let json = ("Content-Type", "application/json");
    let none: &[_] = &[("Content-Type", "application/json"), ("If-None-Match", "*")];
    let some: &[_] = &[("Content-Type", "application/json"), ("If-Match", "*")];
    assert_eq!(none[0], json);
    put(some).await.problem("precondition-failed");
    put(none).await.expect(200);
    put(none).await.problem("precondition-failed");
    put(some).await.expect(200);
}
