//! Tokens: what counts as one, until when, and how often.

use serde_json::{Value, json};
use sprag_core::access::Role;
use sprag_core::access::token::text;
use sprag_core::ids::{Slot, TokenId};

use super::super::world::{ORDER, World};
use super::{Guarded, asking, send};
use crate::{Auth, MetricsFor, first_token};

#[tokio::test]
async fn without_authentication_everybody_is_local_and_may_do_everything() {
    let world = World::start().await;
    let me = world.get("/v1/me").await.expect(200);
    assert_eq!(me["principal"], "local");
    assert_eq!(me["roles"], json!(["admin"]));
    assert_eq!(me["authentication"], false);
}

#[tokio::test]
async fn the_first_token_is_created_once_and_again_when_no_administrator_is_left() {
    let world = Guarded::start().await;
    let handle = &world.world.handle;
    assert_eq!(first_token(handle).await.unwrap(), None, "there is one");
    let me = world.get(&world.admin, "/v1/me").await.expect(200);
    assert_eq!(
        (&me["principal"], &me["authentication"]),
        (&json!("admin"), &json!(true))
    );
    let list = world.get(&world.admin, "/v1/tokens").await.expect(200);
    let revoke = format!("/v1/tokens/{}/revoke", list["data"][0]["id"].as_str().unwrap());
    let revoked = world.send(&world.admin, "POST", &revoke, &json!({})).await.expect(200);
    assert_eq!(revoked["revokedBy"], "admin");
    world.get(&world.admin, "/v1/me").await.problem("token-invalid");
    let second = first_token(handle).await.unwrap().unwrap();
    world.get(&second, "/v1/me").await.expect(200);
}

#[tokio::test]
async fn a_token_is_shown_once_and_stored_as_a_hash() {
    let world = Guarded::start().await;
    let created = world
        .create(&json!({"name": "ci", "principal": "alex", "roles": ["author", "operator", "author"]}))
        .await;
    let token = created["token"].as_str().unwrap();
    assert_eq!(created["roles"], json!(["operator", "author"]));
    assert_eq!(
        (&created["principal"], &created["createdBy"]),
        (&json!("alex"), &json!("admin"))
    );
    let list = world.get(&world.admin, "/v1/tokens").await;
    let secret = token.rsplit('_').next().unwrap();
    assert!(!list.body.contains(secret) && !list.body.contains("hash"));
    let stored = world.world.handle.tokens();
    assert_eq!(stored.all().count(), 2);
    assert!(!format!("{stored:?}").contains(secret));
    assert_eq!(world.get(token, "/v1/me").await.expect(200)["principal"], "alex");
}

#[tokio::test]
async fn what_is_no_valid_token_is_refused() {
    let world = Guarded::start().await;
    let good = world.token("good", &[Role::Viewer]).await;
    world.world.get("/v1/system").await.problem("token-missing");
    let of_another = text(TokenId::compose(world.world.handle.now(), Slot(0), 7), &[7; 32]);
    let (head, secret) = good.rsplit_once('_').unwrap();
    let wrong_secret = format!("{head}_{}", secret.chars().rev().collect::<String>());
    for bad in [
        "",
        "x",
        "sprag_",
        &good[..good.len() - 1],
        &of_another,
        &wrong_secret,
        &good.to_uppercase(),
    ] {
        let reply = world.get(bad, "/v1/system").await;
        reply.problem("token-invalid");
        assert!(
            !reply.body.contains("revoked at"),
            "only who holds the secret learns more"
        );
    }
    let basic = format!("Basic {good}");
    let bearer = format!("bearer {good}");
    for (headers, status) in [
        (vec![("Authorization", basic.as_str())], 401),
        (vec![("Authorization", good.as_str())], 401),
        (
            vec![("Authorization", bearer.as_str()), ("Authorization", bearer.as_str())],
            401,
        ),
        (vec![("Authorization", bearer.as_str())], 200),
    ] {
        assert_eq!(
            world.world.send("GET", "/v1/system", &headers, b"").await.status,
            status,
            "{headers:?}"
        );
    }
    world
        .world
        .get(&format!("/v1/system?token={good}"))
        .await
        .problem("token-missing");
}

#[tokio::test]
async fn a_token_ends_when_it_expires_or_is_revoked() {
    let world = Guarded::start().await;
    let now = world.world.handle.now();
    let past = json!({"name": "a", "roles": ["viewer"], "expiresAt": now});
    world
        .send(&world.admin, "POST", "/v1/tokens", &past)
        .await
        .problem("body-invalid");
    let soon = json!({"name": "a", "roles": ["viewer"], "expiresAt": now.plus(1_000)});
    let short = world.create(&soon).await["token"].as_str().unwrap().to_owned();
    world.get(&short, "/v1/system").await.expect(200);
    let ended = async {
        while world.get(&short, "/v1/system").await.status == 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::super::nodes::GUARD, ended).await.unwrap();
    let refused = world.get(&short, "/v1/system").await.problem("token-invalid");
    assert!(refused["detail"].as_str().unwrap().contains("expired"), "{refused}");

    let created = world.create(&json!({"name": "b", "roles": ["viewer"]})).await;
    let (id, token) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());
    let revoke = format!("/v1/tokens/{id}/revoke");
    world
        .send(token, "POST", &revoke, &json!({}))
        .await
        .problem("role-missing");
    let first = world.send(&world.admin, "POST", &revoke, &json!({})).await.expect(200);
    let refused = world.get(token, "/v1/system").await.problem("token-invalid");
    assert!(refused["detail"].as_str().unwrap().contains("revoked"), "{refused}");
    let again = world.send(&world.admin, "POST", &revoke, &json!({})).await.expect(200);
    assert_eq!(first, again);
    let unknown = "/v1/tokens/tok_00000000000000000000000000/revoke";
    world
        .send(&world.admin, "POST", unknown, &json!({}))
        .await
        .problem("token-unknown");
}

#[tokio::test]
async fn a_body_that_describes_no_token_is_refused_with_every_fault() {
    let world = Guarded::start().await;
    for (body, pointer) in [
        (json!({"roles": ["viewer"]}), "/name"),
        (json!({"name": "a"}), "/roles"),
        (json!({"name": "a", "roles": ["root"]}), "/roles/0"),
        (
            json!({"name": "a", "roles": ["viewer"], "principal": "local"}),
            "/principal",
        ),
        (json!({"name": "anonymous", "roles": ["viewer"]}), "/principal"),
        (
            json!({"name": "a", "roles": ["viewer"], "scopes": {"typ": []}}),
            "/scopes/typ",
        ),
        (json!({"name": "a", "roles": ["viewer"], "maxRisk": "huge"}), "/maxRisk"),
        (
            json!({"name": "a", "roles": ["viewer"], "expiresAt": "tomorrow"}),
            "/expiresAt",
        ),
    ] {
        let refused = world
            .send(&world.admin, "POST", "/v1/tokens", &body)
            .await
            .problem("body-invalid");
        let errors = refused["errors"].as_array().unwrap();
        assert!(
            errors.iter().any(|error| error["pointer"] == pointer),
            "{body}: {refused}"
        );
    }
}

#[tokio::test]
async fn many_bad_tokens_from_one_address_are_told_to_wait_and_good_ones_are_not() {
    let world = Guarded::start().await;
    let good = world.token("good", &[Role::Viewer]).await;
    let mut waits = 0;
    for _ in 0..200 {
        let bad = world.get("sprag_bad", "/v1/system").await;
        if bad.status == 401 {
            bad.problem("token-invalid");
        } else {
            waits += 1;
            bad.problem("rate-limited");
        }
        world.get(&good, "/v1/system").await.expect(200);
    }
    assert!(waits > 0, "somebody who guesses is slowed down");
}

#[tokio::test]
async fn a_token_has_its_rate_and_takes_nothing_from_others() {
    let world = Guarded::with(Auth {
        token_rate: 5,
        ..asking()
    })
    .await;
    let (fast, slow) = (
        world.token("fast", &[Role::Viewer]).await,
        world.token("slow", &[Role::Viewer]).await,
    );
    let mut refused = None;
    for _ in 0..200 {
        let reply = world.get(&fast, "/v1/system").await;
        if reply.status != 200 {
            refused = Some(reply);
            break;
        }
    }
    refused.expect("there is a limit").problem("rate-limited");
    world.get(&slow, "/v1/system").await.expect(200);
}

#[tokio::test]
async fn idempotency_keys_of_two_principals_never_meet() {
    let world = Guarded::start().await;
    let author = world.token("author", &[Role::Author]).await;
    let yaml = [
        ("Content-Type", "application/yaml"),
        ("Authorization", &format!("Bearer {author}")),
    ];
    world
        .world
        .send("POST", "/v1/machines", &yaml, ORDER.as_bytes())
        .await
        .expect(201);
    let (a, b) = (
        world.token("a", &[Role::Operator]).await,
        world.token("b", &[Role::Operator]).await,
    );
    let key = [("Idempotency-Key", "same")];
    let body = |amount: u32| json!({"machine": "order", "variables": {"amount": amount}});
    let start =
        async |token: &str, body: Value| send(&world.world, token, ("POST", "/v1/executions"), &key, &body).await;
    let first = start(&a, body(1)).await.expect(201);
    let second = start(&b, body(2)).await.expect(201);
    assert_ne!(first["id"], second["id"]);
    assert_eq!(start(&a, body(1)).await.expect(201)["id"], first["id"]);
    start(&a, body(2)).await.problem("idempotency-key-reused");
    // Another token of the same person is the same person.
    let created = world
        .create(&json!({"name": "a2", "principal": "a", "roles": ["operator"]}))
        .await;
    let other = created["token"].as_str().unwrap();
    assert_eq!(start(other, body(1)).await.expect(201)["id"], first["id"]);
}

#[tokio::test]
async fn a_repeated_creation_creates_one_token_and_shows_it_once() {
    let world = Guarded::start().await;
    let key = [("Idempotency-Key", "token-1")];
    let body = json!({"name": "once", "roles": ["viewer"]});
    let create = async || send(&world.world, &world.admin, ("POST", "/v1/tokens"), &key, &body).await;
    let (first, again) = (create().await, create().await);
    let (first, replay) = (first.expect(201), again.expect(201));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first["id"], replay["id"]);
    assert!(first["token"].is_string() && replay.get("token").is_none());
}

#[tokio::test]
async fn metrics_are_for_viewers_unless_configured_for_everybody() {
    let world = Guarded::start().await;
    let runner = world.token("runner", &[Role::Runner]).await;
    assert_eq!(world.world.get("/metrics").await.status, 401);
    assert_eq!(world.get(&runner, "/metrics").await.status, 403);
    assert_eq!(world.get(&world.admin, "/metrics").await.status, 200);
    let open = Guarded::with(Auth {
        metrics: MetricsFor::Everybody,
        ..asking()
    })
    .await;
    assert_eq!(open.world.get("/metrics").await.status, 200);
    assert_eq!(open.world.get("/v1/system").await.status, 401);
}
