//! Tokens: fetched once, refreshed, refused.

use std::sync::Arc;

use serde_json::json;
use sprag_core::action::outcome::Outcome;

use super::{SECRET, TOKEN, case, runner, with_tokens};
use crate::testing::{Act, Server, error, reply, result, until};

const JSON: &str = "content-type: application/json\r\n";
const CALLS: usize = 200;

/// A token endpoint's answer.
fn token(text: &str, more: &str) -> Act {
    reply(
        200,
        JSON,
        &format!(r#"{{"access_token":"{text}","token_type":"bearer"{more}}}"#),
    )
}

#[tokio::test]
async fn a_token_is_asked_for_as_the_standard_says_and_used_as_long_as_it_lives() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token(TOKEN, r#","expires_in":3600"#)]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    for _ in 0..3 {
        assert_eq!(result(&case(&json!({})).run(&runner).await)["statusCode"], 200);
    }
    let asked = tokens.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].line, "POST /oauth/token HTTP/1.1");
    assert_eq!(
        asked[0].header("authorization"),
        Some("Basic bWU6Y2xpZW50LXNlY3JldC0wMTIzNDU2Nzg5")
    );
    assert_eq!(
        asked[0].header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    let form = String::from_utf8(asked[0].body.clone()).unwrap();
    assert_eq!(form, "grant_type=client_credentials&scope=records.read+records.write");
    for call in api.requests() {
        assert_eq!(call.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    }
}

#[tokio::test]
async fn a_client_can_prove_itself_in_the_form() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token(TOKEN, "")]).await;
    let mut service = with_tokens(&api, &tokens);
    service["authentication"]["clientAuthentication"] = json!("post");
    service["authentication"]["audience"] = json!("https://crm");
    case(&json!({})).run(&runner(&service)).await;
    let asked = tokens.requests().pop().unwrap();
    assert_eq!(asked.header("authorization"), None);
    let form = String::from_utf8(asked.body).unwrap();
    assert!(
        form.ends_with(&format!(
            "&audience=https%3A%2F%2Fcrm&client_id=me&client_secret={SECRET}"
        )),
        "{form}"
    );
}

#[tokio::test]
async fn two_hundred_calls_at_once_fetch_one_token() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token(TOKEN, r#","expires_in":3600"#)]).await;
    let runner = Arc::new(runner(&with_tokens(&api, &tokens)));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let runner = Arc::clone(&runner);
        calls.spawn(async move { case(&json!({})).run(runner.as_ref()).await });
    }
    for outcome in calls.join_all().await {
        assert_eq!(result(&outcome)["statusCode"], 200);
    }
    assert_eq!(tokens.requests().len(), 1);
    assert_eq!(api.requests().len(), CALLS);
}

#[tokio::test]
async fn calls_that_wait_for_a_token_share_its_failure_and_the_next_one_asks_again() {
    let api = Server::start([reply(200, "", "")]).await;
    // The answer is slow enough for everybody to be waiting for it.
    let tokens = Server::start([
        Act::Drip(b"HTTP/1.1 503 X\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n".to_vec()),
        token(TOKEN, ""),
    ])
    .await;
    let runner = Arc::new(runner(&with_tokens(&api, &tokens)));
    let cases: Vec<_> = (0..20).map(|_| case(&json!({}))).collect();
    let outcomes = {
        let mut calls: Vec<_> = cases.iter().map(|case| Box::pin(case.run(runner.as_ref()))).collect();
        // All of them are polled once, in one go, before the server can have answered.
        for call in &mut calls {
            let _ = futures_poll(call.as_mut()).await;
        }
        let mut outcomes = Vec::new();
        for call in calls {
            outcomes.push(call.await);
        }
        outcomes
    };
    for outcome in outcomes {
        let Outcome::NotDone(failure) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(failure.error.kind, "service_unavailable");
        assert!(
            failure.error.message.starts_with("no access token from `127.0.0.1`"),
            "{failure:?}"
        );
        assert_eq!(failure.retry_after, Some(9_000));
    }
    assert_eq!(tokens.requests().len(), 1);
    assert_eq!(api.requests().len(), 0);
    assert_eq!(result(&case(&json!({})).run(runner.as_ref()).await)["statusCode"], 200);
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(mut future: F) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut future).poll(context).is_ready()))
        .await
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_replaced_once() {
    let api = Server::start([reply(401, "", ""), reply(200, "", "")]).await;
    let tokens = Server::start([token("first-token", ""), token("second-token", "")]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    assert_eq!(result(&case(&json!({})).run(&runner).await)["statusCode"], 200);
    assert_eq!(result(&case(&json!({})).run(&runner).await)["statusCode"], 200);
    assert_eq!(tokens.requests().len(), 2);
    let sent: Vec<_> = api
        .requests()
        .iter()
        .map(|call| call.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(
        sent,
        ["Bearer first-token", "Bearer second-token", "Bearer second-token"]
    );
    let keys: Vec<_> = api
        .requests()
        .iter()
        .map(|call| call.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_eq!(keys[0], keys[1], "it is the same wish");
}

#[tokio::test]
async fn a_service_that_accepts_no_token_is_asked_twice_and_no_more() {
    let api = Server::start([reply(401, "", "")]).await;
    let tokens = Server::start([token("first-token", ""), token("second-token", "")]).await;
    let outcome = case(&json!({})).run(&runner(&with_tokens(&api, &tokens))).await;
    assert_eq!(error(&outcome).kind, "authentication_failed");
    assert_eq!((api.requests().len(), tokens.requests().len()), (2, 2));
    let api = Server::start([reply(401, "", "")]).await;
    let tokens = Server::start([token(TOKEN, "")]).await;
    let outcome = case(&json!({"expectedStatusCodes": [401]}))
        .run(&runner(&with_tokens(&api, &tokens)))
        .await;
    assert_eq!(result(&outcome)["statusCode"], 401, "it is what the action asks for");
    assert_eq!((api.requests().len(), tokens.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_dead_token_is_not_used_again() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token("first-token", r#","expires_in":"0""#), token("second-token", "")]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    for expected in ["first-token", "second-token", "second-token"] {
        case(&json!({})).run(&runner).await;
        let sent = api.requests().pop().unwrap();
        assert_eq!(
            sent.header("authorization"),
            Some(format!("Bearer {expected}").as_str())
        );
    }
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn what_a_token_endpoint_says_decides_whether_a_retry_can_help() {
    let refusal = |word: &str| format!(r#"{{"error":"{word}","error_description":"no, {SECRET}"}}"#);
    for (act, kind) in [
        (reply(401, JSON, &refusal("invalid_client")), "authentication_failed"),
        (
            reply(400, JSON, &refusal("unauthorized_client")),
            "authentication_failed",
        ),
        (reply(400, JSON, &refusal("invalid_scope")), "invalid_configuration"),
        (
            reply(400, JSON, &refusal("unsupported_grant_type")),
            "invalid_configuration",
        ),
        (reply(401, "", ""), "authentication_failed"),
        (reply(404, "", ""), "not_found"),
        (reply(429, "", ""), "rate_limit"),
        (reply(500, "", ""), "service_unavailable"),
        (
            reply(302, "location: https://evil.example\r\n", ""),
            "unexpected_status",
        ),
        (reply(200, JSON, "{}"), "invalid_configuration"),
        (
            reply(200, "content-type: text/html\r\n", "<p>hello"),
            "invalid_configuration",
        ),
        (
            reply(200, JSON, r#"{"access_token":"abcdefgh","token_type":"mac"}"#),
            "invalid_configuration",
        ),
        (Act::HangUp, "network_error"),
    ] {
        let api = Server::start([reply(200, "", "")]).await;
        let tokens = Server::start([act.clone()]).await;
        let outcome = case(&json!({})).run(&runner(&with_tokens(&api, &tokens))).await;
        assert_eq!(error(&outcome).kind, kind, "{act:?}");
        assert!(
            matches!(outcome, Outcome::NotDone(_)),
            "the call itself never left: {outcome:?}"
        );
        assert!(!format!("{outcome:?}").contains(SECRET), "{outcome:?}");
        assert_eq!(api.requests().len(), 0);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_token_longer_than_the_attempt_may_take() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([Act::Silence]).await;
    let outcome = case(&json!({}))
        .timeout(100)
        .run(&runner(&with_tokens(&api, &tokens)))
        .await;
    assert_eq!(error(&outcome).kind, "timeout");
    assert!(matches!(outcome, Outcome::NotDone(_)));
}

#[tokio::test]
async fn a_token_that_comes_back_is_masked() {
    let echo = reply(200, JSON, &format!(r#"{{"authorization":"Bearer {TOKEN}"}}"#));
    let api = Server::start([echo]).await;
    let tokens = Server::start([token(TOKEN, "")]).await;
    let outcome = case(&json!({})).run(&runner(&with_tokens(&api, &tokens))).await;
    assert_eq!(result(&outcome)["data"]["authorization"], "Bearer [secret accessToken]");
}

#[tokio::test]
async fn a_token_endpoint_of_a_definition_goes_through_the_guard_and_shares_nothing_with_a_services() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token(TOKEN, "")]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    assert_eq!(result(&case(&json!({})).run(&runner).await)["statusCode"], 200);
    let mut own = with_tokens(&api, &tokens)["authentication"].clone();
    own["clientSecret"] = json!(SECRET);
    let outcome = case(&json!({"authentication": own})).run(&runner).await;
    assert_eq!(error(&outcome).kind, "invalid_configuration");
    assert!(error(&outcome).message.contains("[outbound] allow"), "{outcome:?}");
    assert_eq!(tokens.requests().len(), 1);
}

#[tokio::test]
async fn another_secret_or_scope_is_another_token() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token(TOKEN, "")]).await;
    let mut options = super::service(&with_tokens(&api, &tokens));
    let mut other = options.services["crm"].clone();
    other
        .authentication
        .as_mut()
        .unwrap()
        .insert("clientSecret".to_owned(), json!("rotated-secret"));
    options.services.insert("other".to_owned(), other);
    let secrets = Arc::new(crate::secrets::Secrets::new(vec![Box::new(super::Known)]));
    let client = crate::testing::client();
    let runner = super::ApiCall::new(&options, secrets, client.clone(), client).unwrap();
    for service in ["crm", "other", "crm", "other"] {
        case(&json!({"service": service})).run(&runner).await;
    }
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn a_token_is_fetched_anew_before_it_dies_while_calls_go_on_with_the_old_one() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token("first-token", ""), token("second-token", r#","expires_in":3600"#)]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    case(&json!({})).run(&runner).await;
    runner.tokens.grow_old("first-token");
    case(&json!({})).run(&runner).await;
    until(|| runner.tokens.holds("second-token")).await;
    case(&json!({})).run(&runner).await;
    let sent: Vec<_> = api
        .requests()
        .iter()
        .map(|call| call.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(
        sent,
        ["Bearer first-token", "Bearer first-token", "Bearer second-token"]
    );
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn an_early_fetch_that_fails_costs_nobody_anything() {
    let api = Server::start([reply(200, "", "")]).await;
    let tokens = Server::start([token("first-token", ""), reply(503, "", "")]).await;
    let runner = runner(&with_tokens(&api, &tokens));
    case(&json!({})).run(&runner).await;
    runner.tokens.grow_old("first-token");
    for _ in 0..3 {
        assert_eq!(result(&case(&json!({})).run(&runner).await)["statusCode"], 200);
        until(|| tokens.requests().len() == 2).await;
    }
    assert_eq!(tokens.requests().len(), 2, "it is not tried again at once");
}
