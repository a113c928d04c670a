//! Several nodes whose callers show who they are.

use serde_json::{Value, json};
use sprag_core::access::Role;

use super::super::nodes::{GUARD, Shared, guarded_pair};
use super::super::world::ORDER;
use super::{Guarded, asking, send};

async fn pair() -> (Shared, Guarded, Guarded) {
    let (shared, one, two, admin) = guarded_pair(asking()).await;
    let guarded = |world| Guarded {
        world,
        admin: admin.clone(),
    };
    (shared, guarded(one), guarded(two))
}

/// Waits until an answer has this status.
async fn until(world: &Guarded, token: &str, status: u16) {
    let reached = async {
        while world.get(token, "/v1/system").await.status != status {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, reached).await.expect("it comes to it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_counts_on_every_node_at_once_and_is_revoked_on_every_node() {
    let (_shared, one, two) = pair().await;
    for number in 0..5 {
        let created = one
            .create(&json!({"name": format!("n{number}"), "roles": ["viewer"]}))
            .await;
        let token = created["token"].as_str().unwrap();
        two.get(token, "/v1/system").await.expect(200);
        let revoke = format!("/v1/tokens/{}/revoke", created["id"].as_str().unwrap());
        one.send(&one.admin, "POST", &revoke, &json!({})).await.expect(200);
        until(&two, token, 401).await;
        until(&one, token, 401).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forwarded_request_carries_its_principal() {
    let (_shared, one, two) = pair().await;
    let yaml = [
        ("Content-Type", "application/yaml"),
        ("Authorization", &format!("Bearer {}", one.admin)),
    ];
    one.world
        .send("POST", "/v1/machines", &yaml, ORDER.as_bytes())
        .await
        .expect(201);
    let (a, b) = (
        one.token("a", &[Role::Operator]).await,
        one.token("b", &[Role::Operator]).await,
    );
    let body = json!({"machine": "order", "variables": {"amount": 1}});
    for number in 0..8 {
        // Whichever node decides, the key belongs to the principal who sent it to either node.
        let key = format!("key-{number}");
        let start = async |world: &Guarded, token: &str| {
            let key = [("Idempotency-Key", key.as_str())];
            send(&world.world, token, ("POST", "/v1/executions"), &key, &body)
                .await
                .expect(201)
        };
        let first = start(&one, &a).await;
        assert_eq!(start(&two, &a).await["id"], first["id"]);
        assert_ne!(start(&two, &b).await["id"], first["id"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_outside_can_speak_as_a_node_or_for_a_principal() {
    let (_shared, one, _two) = pair().await;
    let viewer = one.token("viewer", &[Role::Viewer]).await;
    let forged = json!({"principal": "admin", "roles": ["admin"], "address": null, "reason": null}).to_string();
    let names: [&[(&str, &str)]; 3] = [
        &[("Sprag-Node-Caller", forged.as_str())],
        &[("Sprag-Node-Caller", forged.as_str()), ("Sprag-Node-Token", "token-3")],
        &[("Sprag-Node-Token", "")],
    ];
    for headers in names {
        one.world
            .send("GET", "/v1/tokens", headers, b"")
            .await
            .problem("token-missing");
        let shown = send(&one.world, &viewer, ("GET", "/v1/tokens"), headers, &Value::Null).await;
        shown.problem("role-missing");
        let me = send(&one.world, &viewer, ("GET", "/v1/me"), headers, &Value::Null).await;
        assert_eq!(me.expect(200)["principal"], "viewer");
    }
    one.world
        .send("POST", "/internal/limits", &[], b"{}")
        .await
        .problem("token-missing");
}
