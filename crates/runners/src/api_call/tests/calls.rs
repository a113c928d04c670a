//! What is sent, what comes back, and what is kept of it.

use serde_json::json;
use sprag_core::action::outcome::{Outcome, Probe};

use super::{SECRET, case, runner};
use crate::testing::{Act, Server, error, reply, result};

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn a_call_goes_below_the_service_with_its_headers_and_gives_a_result_and_an_event() {
    let api = Server::start([reply(200, JSON, r#"{"id":7}"#)]).await;
    let runner = runner(&json!({
        "baseUrl": api.url("/api?v=2"),
        "headers": {"X-Tenant": "acme", "X-Key": "{{secrets.crm_secret}}", "X-Mine": "service"},
    }));
    let case = case(&json!({"query": {"full": true}, "headers": {"x-mine": "action"}}));
    let outcome = case.run(&runner).await;
    assert_eq!(result(&outcome)["statusCode"], 200);
    assert_eq!(result(&outcome)["data"], json!({"id": 7}));
    let Outcome::Done(done) = &outcome else {
        panic!("{outcome:?}")
    };
    let event = done.event.as_ref().unwrap();
    assert_eq!(event.kind, "api_called");
    assert_eq!(event.payload["url"], api.url("/api/records/7?v=2&full=true"));
    assert_eq!(event.payload["method"], "PUT");
    assert_eq!(event.payload["statusCode"], 200);
    assert_eq!(event.payload["actionId"], "notify_crm");
    assert!(event.payload["responseTime"].is_u64());
    let sent = &api.requests()[0];
    assert_eq!(sent.line, "PUT /api/records/7?v=2&full=true HTTP/1.1");
    assert_eq!(sent.header("x-tenant"), Some("acme"));
    assert_eq!(sent.header("x-key"), Some(SECRET));
    assert_eq!(sent.header("x-mine"), Some("action"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("idempotency-key"), Some("act_0000000000000000000000000.1"));
    assert_eq!(sent.header("authorization"), None);
    assert_eq!(sent.body, br#"{"status":"ok"}"#);
}

#[tokio::test]
async fn every_way_to_say_who_calls_is_sent_as_its_standard_says_and_shown_nowhere() {
    let api = Server::start([reply(200, "", "")]).await;
    for (authentication, header, query) in [
        (json!({"type": "none"}), None, ""),
        (
            json!({"type": "basic", "username": "Aladdin", "password": "open sesame"}),
            Some(("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned())),
            "",
        ),
        (
            json!({"type": "bearer", "token": "{{secrets.crm_secret}}"}),
            Some(("authorization", format!("Bearer {SECRET}"))),
            "",
        ),
        (
            json!({"type": "apiKey", "value": "{{secrets.crm_secret}}"}),
            Some(("x-api-key", SECRET.to_owned())),
            "",
        ),
        (
            json!({"type": "apiKey", "name": "X-Other", "in": "header", "value": "key-in-clear"}),
            Some(("x-other", "key-in-clear".to_owned())),
            "",
        ),
        (
            json!({"type": "apiKey", "in": "query", "name": "k", "value": "{{secrets.crm_secret}}"}),
            None,
            "?k=client-secret-0123456789",
        ),
    ] {
        let runner = runner(&json!({"baseUrl": api.url(""), "authentication": authentication}));
        let outcome = case(&json!({})).run(&runner).await;
        assert_eq!(result(&outcome)["statusCode"], 200);
        assert!(!format!("{outcome:?}").contains(SECRET), "{outcome:?}");
        let sent = api.requests().pop().unwrap();
        assert_eq!(sent.line, format!("PUT /records/7{query} HTTP/1.1"));
        match header {
            Some((name, value)) => assert_eq!(sent.header(name), Some(value.as_str())),
            None => assert_eq!(sent.header("authorization"), None),
        }
    }
}

#[tokio::test]
async fn an_actions_own_authentication_takes_the_place_of_the_services() {
    let api = Server::start([reply(200, "", "")]).await;
    let runner = runner(&json!({
        "baseUrl": api.url(""),
        "authentication": {"type": "bearer", "token": "{{secrets.crm_secret}}"},
    }));
    let own = json!({"authentication": {"type": "basic", "username": "me", "password": "my-password"}});
    case(&own).run(&runner).await;
    case(&json!({"authentication": {"type": "none"}})).run(&runner).await;
    let sent: Vec<_> = api.requests();
    assert_eq!(sent[0].header("authorization"), Some("Basic bWU6bXktcGFzc3dvcmQ="));
    assert_eq!(sent[1].header("authorization"), None);
}

#[tokio::test]
async fn a_secret_that_a_service_sends_back_is_masked_in_results_and_in_errors() {
    let echo = format!(r#"{{"you":"Bearer {SECRET}"}}"#);
    for status in [200, 500] {
        let api = Server::start([reply(status, JSON, &echo)]).await;
        let runner = runner(&json!({
            "baseUrl": api.url(""),
            "authentication": {"type": "bearer", "token": "{{secrets.crm_secret}}"},
        }));
        let outcome = case(&json!({})).run(&runner).await;
        let shown = format!("{outcome:?}");
        assert!(
            !shown.contains(SECRET) && shown.contains("[secret crm_secret]"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn replies_are_judged_as_those_of_webhooks_are() {
    for (status, kind, is_known) in [
        (401, "authentication_failed", true),
        (403, "authorization_failed", true),
        (404, "not_found", true),
        (409, "conflict", true),
        (422, "malformed_request", true),
        (429, "rate_limit", true),
        (503, "service_unavailable", true),
        (500, "service_unavailable", false),
        (302, "unexpected_status", true),
    ] {
        let api = Server::start([reply(status, "retry-after: 7\r\n", "")]).await;
        let outcome = case(&json!({})).run(&runner(&json!({"baseUrl": api.url("")}))).await;
        assert_eq!(error(&outcome).kind, kind, "{status}");
        assert_eq!(matches!(outcome, Outcome::NotDone(_)), is_known, "{status}");
        let (Outcome::NotDone(failure) | Outcome::Unknown(failure)) = outcome else {
            panic!("{status}")
        };
        assert_eq!(failure.retry_after, Some(7_000), "{status}");
        assert_eq!(api.requests().len(), 1, "nothing is repeated within an attempt");
    }
    let api = Server::start([reply(404, "", "")]).await;
    let expected = case(&json!({"expectedStatusCodes": [404]}));
    let outcome = expected.run(&runner(&json!({"baseUrl": api.url("")}))).await;
    assert_eq!(result(&outcome)["statusCode"], 404);
}

#[tokio::test]
async fn the_services_time_bounds_a_call_that_its_action_would_give_more() {
    let api = Server::start([Act::Silence]).await;
    let runner = runner(&json!({"baseUrl": api.url(""), "timeout": 200}));
    let outcome = case(&json!({})).run(&runner).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, "timeout");
}

#[tokio::test]
async fn a_lookup_asks_the_same_service_with_the_same_credentials() {
    let lookup = json!({"lookup": {"endpoint": "/records?ref=7", "happened": {"pointer": "/items/0"}}});
    for (body, happened) in [(r#"{"items":[{"id":7}]}"#, true), (r#"{"items":[]}"#, false)] {
        let api = Server::start([Act::HangUp, reply(200, JSON, body)]).await;
        let runner = runner(&json!({
            "baseUrl": api.url("/api"),
            "authentication": {"type": "bearer", "token": "{{secrets.crm_secret}}"},
        }));
        let case = case(&lookup);
        assert!(matches!(case.run(&runner).await, Outcome::Unknown(_)));
        match case.probe(&runner).await.unwrap() {
            Probe::Happened(done) => {
                assert!(happened);
                assert_eq!(done.event.unwrap().payload["url"], api.url("/api/records/7"));
            }
            other => assert!(!happened && other == Probe::DidNotHappen, "{other:?}"),
        }
        let asked = api.requests().pop().unwrap();
        assert_eq!(asked.line, "GET /api/records?ref=7 HTTP/1.1");
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
    assert!(
        case(&json!({}))
            .probe(&runner(&json!({"baseUrl": "https://a.example"})))
            .await
            .is_none()
    );
}
