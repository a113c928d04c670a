//! Inbound webhooks: believed only with a right signature, taken once, mapped as the machine says.

use serde_json::{Value, json};
use sprag_core::integrity::signature::{Secret, SignedMessage};

use super::client::Reply;
use super::world::{SECRETS, World};

const LEASE: &str = r#"
id: lease
initial: waiting
variables: { calls: 0 }
states:
  waiting:
    on:
      SIGNED: { assign: { calls: "{{variables.calls + 1}}", by: "{{message.payload.by}}" } }
      CLOSE: closed
  closed: { type: final }
hooks:
  signed:
    verify: standard-webhooks
    secret: ["{{secrets.hook}}", "{{secrets.hook_next}}"]
    key: "{{request.body.lease}}"
    type: SIGNED
    payload: { by: "{{request.body.by}}" }
  envelope: { verify: docusign-hmac, secret: "{{secrets.docusign}}", key: "{{request.body.lease}}", type: SIGNED }
  open: { verify: none, key: "{{request.query.lease}}", type: '{{request.headers["x-kind"]}}', payload: { by: anybody } }
  unset: { verify: standard-webhooks, secret: "{{secrets.nowhere}}", key: k, type: SIGNED }
  garbled: { verify: standard-webhooks, secret: "{{secrets.docusign}}!", key: k, type: SIGNED }
"#;

async fn lease() -> (World, String) {
    let world = World::start().await;
    world.apply(LEASE).await.expect(201);
    let body = json!({"machine": "lease", "key": "north"});
    let id = world.post("/v1/executions", &body).await.expect(201)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    (world, id)
}

fn secret(name: &str) -> &'static str {
    SECRETS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
        .unwrap()
}

/// The headers of a call, signed now or so many seconds from now.
fn signed(world: &World, id: &str, body: &str, by: &str, later: i64) -> Vec<(&'static str, String)> {
    let message = SignedMessage {
        id,
        seconds: world.handle.now().as_millis() / 1_000 + later,
        body: body.as_bytes(),
    };
    let mut headers = message.headers(&[Secret::parse(secret(by)).ok().unwrap()]).to_vec();
    headers.push(("content-type", "application/json".to_owned()));
    headers
}

async fn call(world: &World, hook: &str, headers: &[(&str, String)], body: &str) -> Reply {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    world
        .send("POST", &format!("/v1/hooks/lease/{hook}"), &headers, body.as_bytes())
        .await
}

async fn variables(world: &World, id: &str) -> Value {
    world.get(&format!("/v1/executions/{id}")).await.expect(200)["variables"].clone()
}

const BODY: &str = r#"{"lease": "north", "by": "Ann"}"#;

#[tokio::test]
async fn a_signed_call_is_taken_once_however_often_it_comes() {
    let (world, id) = lease().await;
    let first = call(&world, "signed", &signed(&world, "msg_1", BODY, "hook", 0), BODY).await;
    assert_eq!(first.expect(200)["handled"], true);
    let again = call(&world, "signed", &signed(&world, "msg_1", BODY, "hook", 1), BODY).await;
    assert_eq!(again.expect(200), first.json(), "the first answer again");
    assert_eq!(variables(&world, &id).await, json!({"calls": 1, "by": "Ann"}));
    call(&world, "signed", &signed(&world, "msg_2", BODY, "hook", 0), BODY)
        .await
        .expect(200);
    assert_eq!(variables(&world, &id).await["calls"], 2);
}

#[tokio::test]
async fn during_a_change_both_secrets_are_right() {
    let (world, id) = lease().await;
    for (number, by) in ["hook", "hook_next"].into_iter().enumerate() {
        let headers = signed(&world, &format!("msg_{number}"), BODY, by, 0);
        call(&world, "signed", &headers, BODY).await.expect(200);
    }
    assert_eq!(variables(&world, &id).await["calls"], 2);
}

#[tokio::test]
async fn a_call_that_is_not_its_senders_is_refused_and_does_nothing() {
    let (world, id) = lease().await;
    let good = signed(&world, "msg_1", BODY, "hook", 0);
    let without = |name: &str| {
        good.iter()
            .filter(|(known, _)| *known != name)
            .cloned()
            .collect::<Vec<_>>()
    };
    let with = |name: &'static str, value: &str| {
        let mut headers = without(name);
        headers.push((name, value.to_owned()));
        headers
    };
    let mut twice = good.clone();
    twice.push(("webhook-signature", "v1,AAAA".to_owned()));
    let refused = [
        (without("webhook-id"), BODY),
        (without("webhook-timestamp"), BODY),
        (without("webhook-signature"), BODY),
        (with("webhook-id", "msg_2"), BODY),
        (with("webhook-timestamp", "1"), BODY),
        (with("webhook-signature", "v1,AAAA"), BODY),
        (twice, BODY),
        (good.clone(), r#"{"lease": "north", "by": "Eve"}"#),
        (signed(&world, "msg_1", BODY, "hook", -400), BODY),
        (signed(&world, "msg_1", BODY, "hook", 400), BODY),
    ];
    for (headers, body) in refused {
        let reply = call(&world, "signed", &headers, body).await;
        reply.problem("signature-invalid");
        assert_eq!(reply.status, 401);
    }
    assert_eq!(variables(&world, &id).await["calls"], 0);
}

#[tokio::test]
async fn docusign_is_known_by_its_hmac_and_the_same_body_is_taken_once() {
    let (world, id) = lease().await;
    let body = r#"{"lease": "north", "by": "DocuSign"}"#;
    // openssl dgst -sha256 -hmac a-connect-key -binary | base64
    let right = "iPBULJKV+RaZ66yh2otPx/bObzv/8GOQ9Xlx7LUIDoE=";
    let headers = |signature: &str| {
        vec![
            ("content-type", "application/json".to_owned()),
            ("x-docusign-signature-1", "AAAA".to_owned()),
            ("x-docusign-signature-2", signature.to_owned()),
        ]
    };
    for _ in 0..2 {
        call(&world, "envelope", &headers(right), body).await.expect(200);
    }
    assert_eq!(variables(&world, &id).await, json!({"calls": 1, "by": "DocuSign"}));
    let wrong = right.replacen('i', "j", 1);
    for signature in [wrong.as_str(), "", "AAAA"] {
        call(&world, "envelope", &headers(signature), body)
            .await
            .problem("signature-invalid");
    }
    call(&world, "envelope", &headers(right), &body.replace("north", "south"))
        .await
        .problem("signature-invalid");
}

#[tokio::test]
async fn a_hook_without_verification_takes_headers_and_query_but_no_web_page() {
    let (world, id) = lease().await;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("X-Kind", "SIGNED".to_owned()),
    ];
    call(&world, "open?lease=north", &headers, "{}").await.expect(200);
    assert_eq!(variables(&world, &id).await, json!({"calls": 1, "by": "anybody"}));
    let page = [headers.to_vec(), vec![("origin", "https://evil.example".to_owned())]].concat();
    call(&world, "open?lease=north", &page, "{}")
        .await
        .problem("origin-refused");
    assert_eq!(variables(&world, &id).await["calls"], 1);
}

#[tokio::test]
async fn a_signed_call_may_come_from_any_origin_but_only_to_a_host_of_ours() {
    let (world, _) = lease().await;
    let mut headers = signed(&world, "msg_1", BODY, "hook", 0);
    headers.push(("origin", "https://sender.example".to_owned()));
    call(&world, "signed", &headers, BODY).await.expect(200);
    headers.push(("Host", "evil.example".to_owned()));
    call(&world, "signed", &headers, BODY).await.problem("host-refused");
    let page = [
        ("Origin", "https://sender.example"),
        ("Content-Type", "application/json"),
    ];
    world
        .send("POST", "/v1/executions", &page, b"{}")
        .await
        .problem("origin-refused");
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let (world, _) = lease().await;
    let headers = signed(&world, "msg_1", BODY, "hook", 0);
    let reply = call(&world, "singed", &headers, BODY).await;
    reply.problem("hook-unknown");
    assert_eq!(reply.status, 404);
    world
        .send(
            "POST",
            "/v1/hooks/nothing/signed",
            &[("Content-Type", "application/json")],
            b"{}",
        )
        .await
        .problem("machine-unknown");
    let south = BODY.replace("north", "south");
    call(&world, "signed", &signed(&world, "msg_1", &south, "hook", 0), &south)
        .await
        .problem("execution-unknown");
    for hook in ["unset", "garbled"] {
        let reply = call(&world, hook, &headers, BODY).await;
        let problem = reply.problem("secret-unavailable");
        assert_eq!(reply.status, 503);
        assert!(!problem.to_string().contains(secret("docusign")), "{problem}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_mapped_points_into_the_machine_file() {
    let (world, _) = lease().await;
    let body = r#"{"lease": "north"}"#;
    let reply = call(&world, "signed", &signed(&world, "msg_1", body, "hook", 0), body).await;
    let problem = reply.problem("hook-unmapped");
    assert_eq!(reply.status, 422);
    assert_eq!(problem["errors"][0]["pointer"], "/hooks/signed/payload/by");
    assert!(
        problem["errors"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("request.body.by")
    );
    let text = "not json";
    call(&world, "signed", &signed(&world, "msg_1", text, "hook", 0), text)
        .await
        .problem("body-unreadable");
    let form = [("content-type", "application/x-www-form-urlencoded".to_owned())];
    call(&world, "open?lease=north", &form, "a=b")
        .await
        .problem("media-type-unsupported");
}

#[tokio::test]
async fn the_hooks_of_the_newest_version_apply() {
    let (world, id) = lease().await;
    world
        .apply(&LEASE.replace("  envelope:", "  contract:"))
        .await
        .expect(201);
    let headers = signed(&world, "msg_1", BODY, "hook", 0);
    call(&world, "signed", &headers, BODY).await.expect(200);
    assert_eq!(
        variables(&world, &id).await["calls"],
        1,
        "also for executions of an earlier one"
    );
    call(&world, "envelope", &headers, BODY).await.problem("hook-unknown");
    call(&world, "contract", &headers, BODY)
        .await
        .problem("signature-invalid");
}

#[tokio::test]
async fn a_closed_execution_is_not_found_by_its_key_any_more() {
    let (world, id) = lease().await;
    world
        .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "CLOSE"}))
        .await
        .expect(200);
    call(&world, "signed", &signed(&world, "msg_1", BODY, "hook", 0), BODY)
        .await
        .problem("execution-unknown");
}
