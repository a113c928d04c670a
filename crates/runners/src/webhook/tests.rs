//! Webhooks: what is sent, signed, expected and looked up.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Outcome, Probe, Verdict};
use sprag_core::action::runner::Runner;

use super::*;
use crate::testing::{Act, Case, NOW, Received, Server, client, error, reply, result};

const KEY: &str = "act_0000000000000000000000000.1";

fn runner() -> Webhook {
    Webhook::new(client())
}

/// Runs the configuration against a server that answers 200, and gives what arrived.
async fn sent(mut config: Value) -> Received {
    let server = Server::start([reply(200, "", "")]).await;
    config["url"] = json!(server.url("/hook"));
    let outcome = Case::new("webhook", config).run(&runner()).await;
    assert_eq!(outcome.verdict(), Verdict::Done, "{outcome:?}");
    server.requests().remove(0)
}

fn problems(config: &Value) -> Vec<(String, String)> {
    let problems = runner().validate("webhook", config);
    problems
        .into_iter()
        .map(|problem| (problem.pointer, format!("{}; {}", problem.detail, problem.remedy)))
        .collect()
}

/// HMAC-SHA256 as RFC 2104 writes it, apart from the code under test.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = if key.len() > 64 {
        Sha256::digest(key).to_vec()
    } else {
        key.to_vec()
    };
    block.resize(64, 0);
    let padded = |pad: u8| block.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::digest([padded(0x36), message.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

#[tokio::test]
async fn the_payload_is_sent_as_json_with_the_idempotency_key() {
    let received = sent(json!({"payload": {"event": "approved", "n": 1}})).await;
    assert_eq!(received.line, "POST /hook HTTP/1.1");
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("idempotency-key"), Some(KEY));
    assert_eq!(received.body, br#"{"event":"approved","n":1}"#);
    assert!(received.header("user-agent").unwrap().starts_with("sprag/"));
    assert_eq!(received.header("webhook-signature"), None, "nobody asked for one");
}

#[tokio::test]
async fn the_trace_goes_along_unless_the_definition_gives_one_and_is_not_signed() {
    const TRACE: &str = "00-01a1e096ca0494808ade7aa19b2403c5-483b51b501aa8f42-01";
    let server = Server::start([reply(200, "", ""), reply(200, "", ""), reply(200, "", "")]).await;
    let signed = json!({"url": server.url("/hook"), "payload": {}, "secret": "whsec_c2VjcmV0LXNlY3JldA=="});
    let mut own = signed.clone();
    own["headers"] = json!({"Traceparent": "00-mine"});
    for (config, traceparent) in [(&signed, None), (&signed, Some(TRACE)), (&own, Some(TRACE))] {
        let mut case = Case::new("webhook", config.clone());
        case.control.traceparent = traceparent;
        assert_eq!(case.run(&runner()).await.verdict(), Verdict::Done);
    }
    let requests = server.requests();
    let headers = |name: &str| requests.iter().map(|request| request.header(name)).collect::<Vec<_>>();
    assert_eq!(headers("traceparent"), [None, Some(TRACE), Some("00-mine")]);
    let signatures = headers("webhook-signature");
    assert!(signatures[0].is_some() && signatures.iter().all(|signature| *signature == signatures[0]));
}

#[tokio::test]
async fn a_text_body_method_headers_and_query_are_sent_as_given() {
    let received = sent(json!({
        "method": "put",
        "body": "hello",
        "headers": {"Authorization": "Bearer t0ken", "X-Number": 7, "Content-Type": "text/csv"},
        "query": {"a": "1 2", "b": [1, true]},
    }))
    .await;
    assert_eq!(received.line, "PUT /hook?a=1+2&b=1&b=true HTTP/1.1");
    assert_eq!(received.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(received.header("x-number"), Some("7"));
    assert_eq!(received.header("content-type"), Some("text/csv"));
    assert_eq!(received.body, b"hello");
}

#[tokio::test]
async fn the_idempotency_key_is_the_same_for_every_attempt() {
    let server = Server::start([reply(500, "", ""), reply(200, "", "")]).await;
    let mut case = Case::new("webhook", json!({"url": server.url("/")}));
    assert_eq!(case.run(&runner()).await.verdict(), Verdict::Unknown);
    case.number = 2;
    assert_eq!(case.run(&runner()).await.verdict(), Verdict::Done);
    let keys: Vec<Option<String>> = server
        .requests()
        .iter()
        .map(|request| request.header("idempotency-key").map(str::to_owned))
        .collect();
    assert_eq!(keys, [Some(KEY.to_owned()), Some(KEY.to_owned())]);
}

#[tokio::test]
async fn a_key_of_the_definition_stands_in_for_ours() {
    let received = sent(json!({"headers": {"idempotency-key": "order-7"}})).await;
    assert_eq!(received.header("idempotency-key"), Some("order-7"));
}

#[tokio::test]
async fn the_result_and_the_event_have_the_fields_of_the_design() {
    let server = Server::start([reply(201, "content-type: application/json\r\n", r#"{"id": 9}"#)]).await;
    let url = server.url("/hook").replace("http://", "http://user:pass@");
    let outcome = Case::new("webhook", json!({"url": url, "method": "POST"}))
        .run(&runner())
        .await;
    assert_eq!(
        result(&outcome),
        &json!({
            "statusCode": 201,
            "headers": {"content-length": "9", "content-type": "application/json"},
            "data": {"id": 9},
        })
    );
    let Outcome::Done(done) = outcome else { unreachable!() };
    let event = done.event.unwrap();
    assert_eq!(event.kind, "webhook_called");
    assert_eq!(event.payload["url"], server.url("/hook"), "without name and password");
    assert_eq!(event.payload["method"], "POST");
    assert_eq!(event.payload["statusCode"], 201);
    assert_eq!(event.payload["actionId"], "notify_crm");
    assert!(event.payload["responseTime"].is_u64());
}

#[tokio::test]
async fn a_status_outside_the_expected_ones_fails_even_if_it_is_2xx() {
    let server = Server::start([reply(204, "", "")]).await;
    let config = json!({"url": server.url("/"), "expectedStatusCodes": [200]});
    let outcome = Case::new("webhook", config).run(&runner()).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::Unknown, kind::UNEXPECTED_STATUS)
    );
}

#[tokio::test]
async fn a_rendered_configuration_that_cannot_be_used_is_not_done() {
    let config = json!({"url": "not a url", "headers": {"X": "a\r\nb"}});
    let outcome = Case::new("webhook", config).run(&runner()).await;
    let error = error(&outcome);
    assert_eq!(
        (outcome.verdict(), error.kind.as_str()),
        (Verdict::NotDone, kind::INVALID_CONFIGURATION)
    );
    assert_eq!(
        error.details.as_ref().unwrap()["problems"].as_array().unwrap().len(),
        2,
        "{error:?}"
    );
}

#[tokio::test]
async fn the_guard_stands_before_every_call() {
    let guard = crate::http::outbound::Guard::new(&crate::http::outbound::Options::default()).unwrap();
    let client = crate::http::Client::new(guard, std::sync::Arc::new(sprag_core::clock::Manual::new(NOW))).unwrap();
    let server = Server::start([reply(200, "", "")]).await;
    let config = json!({"url": server.url("/"), "lookup": {"url": server.url("/")}});
    let case = Case::new("webhook", config);
    let runner = Webhook::new(client);
    let outcome = case.run(&runner).await;
    assert!(
        error(&outcome)
            .message
            .contains(r#"[outbound] allow = ["127.0.0.0/8"]"#),
        "{outcome:?}"
    );
    assert_eq!(case.probe(&runner).await, Some(Probe::Unclear));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_arrives_is_signed_as_it_arrives_with_every_secret() {
    let keys = [vec![7u8; 24], vec![9u8; 64]];
    let secrets: Vec<String> = keys
        .iter()
        .map(|key| format!("whsec_{}", STANDARD.encode(key)))
        .collect();
    let received = sent(json!({"payload": {"a": "ü"}, "signingSecret": secrets})).await;
    assert_eq!(received.header("webhook-id"), Some(KEY));
    assert_eq!(received.header("webhook-timestamp"), Some("784111777"));
    let signed = [format!("{KEY}.784111777.").as_bytes(), &received.body].concat();
    let expected: Vec<String> = keys
        .iter()
        .map(|key| format!("v1,{}", STANDARD.encode(hmac(key, &signed))))
        .collect();
    assert_eq!(received.header("webhook-signature"), Some(expected.join(" ").as_str()));
}

#[tokio::test]
async fn an_empty_body_is_signed_too() {
    let key = [3u8; 32];
    let received = sent(json!({"secret": STANDARD.encode(key)})).await;
    let expected = format!(
        "v1,{}",
        STANDARD.encode(hmac(&key, format!("{KEY}.784111777.").as_bytes()))
    );
    assert_eq!(received.header("webhook-signature"), Some(expected.as_str()));
}

#[tokio::test]
async fn a_bad_secret_is_named_but_not_shown() {
    let config = json!({"url": "https://example.com/", "secret": "whsec_hunter2!"});
    let outcome = Case::new("webhook", config.clone()).run(&runner()).await;
    assert_eq!(error(&outcome).kind, kind::INVALID_CONFIGURATION);
    assert!(!format!("{outcome:?}").contains("hunter2"), "{outcome:?}");
    assert!(!format!("{:?}", problems(&config)).contains("hunter2"));
}

async fn asked(lookup: Value, act: Act) -> Probe {
    let server = Server::start([act]).await;
    let mut config = json!({"url": "https://example.com/hook", "lookup": lookup});
    config["lookup"]["url"] = json!(server.url("/orders/7"));
    Case::new("webhook", config)
        .timeout(1_500)
        .probe(&runner())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_lookup_tells_whether_it_happened() {
    let happened = asked(json!({}), reply(200, "", r#"{"id": 7}"#)).await;
    let Probe::Happened(done) = happened else {
        panic!("{happened:?}")
    };
    assert_eq!(done.result["data"]["id"], 7);
    assert_eq!(done.event.unwrap().payload["url"], "https://example.com/hook");
    assert_eq!(asked(json!({}), reply(404, "", "")).await, Probe::DidNotHappen);
    for act in [
        reply(500, "", ""),
        reply(401, "", ""),
        reply(302, "", ""),
        Act::HangUp,
        Act::Silence,
    ] {
        assert_eq!(asked(json!({}), act.clone()).await, Probe::Unclear, "{act:?}");
    }
}

#[tokio::test]
async fn a_lookup_may_look_into_the_reply() {
    let found = json!({"happened": {"pointer": "/items/0"}});
    assert!(matches!(
        asked(found.clone(), reply(200, "", r#"{"items": [1]}"#)).await,
        Probe::Happened(_)
    ));
    assert_eq!(
        asked(found.clone(), reply(200, "", r#"{"items": []}"#)).await,
        Probe::DidNotHappen
    );
    assert_eq!(asked(found, reply(200, "", "<html>")).await, Probe::Unclear);
    let paid = json!({"happened": {"pointer": "/status", "equals": "paid"}});
    assert!(matches!(
        asked(paid.clone(), reply(200, "", r#"{"status": "paid"}"#)).await,
        Probe::Happened(_)
    ));
    assert_eq!(
        asked(paid, reply(200, "", r#"{"status": "open"}"#)).await,
        Probe::DidNotHappen
    );
    let codes = json!({"expectedStatusCodes": [410]});
    assert!(matches!(
        asked(codes.clone(), reply(410, "", "")).await,
        Probe::Happened(_)
    ));
    assert_eq!(asked(codes, reply(200, "", "")).await, Probe::Unclear);
}

#[tokio::test]
async fn without_a_lookup_there_is_no_probe() {
    let case = Case::new("webhook", json!({"url": "https://example.com/"}));
    assert_eq!(case.probe(&runner()).await, None);
}

#[test]
fn the_example_of_the_seed_is_valid() {
    let config = json!({
        "url": "{{execution.variables.crmWebhookUrl}}",
        "method": "POST",
        "headers": {"Authorization": "Bearer {{secrets.crm_api_token}}", "Content-Type": "application/json"},
        "payload": {"event": "application_approved", "approvalDate": "{{now}}"},
        "expectedStatusCodes": [200, 201, 202],
    });
    assert_eq!(problems(&config), []);
}

#[test]
fn templates_pass_wherever_a_value_may_come_from_one() {
    let config = json!({
        "url": "{{a}}", "method": "{{b}}", "headers": "{{c}}", "payload": "{{d}}", "query": "{{e}}",
        "expectedStatusCodes": "{{f}}", "secret": "{{secrets.g}}", "lookup": {"url": "{{h}}", "happened": {"pointer": "{{i}}"}},
    });
    assert_eq!(problems(&config), []);
}

#[test]
fn every_problem_is_found_at_once_with_its_place_and_its_remedy() {
    let found = problems(&json!({
        "url": "ftp://example.com",
        "methd": "GET",
        "method": "FETCH",
        "headers": {"X A": "1"},
        "payload": {},
        "body": 7,
        "expectedStatusCodes": [200, 99, "x"],
        "query": {"q": {}},
        "secret": "whsec_!",
        "lookup": {"expectedStatusCodes": [], "happened": {"pointer": "x"}},
    }));
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for pointer in [
        "/methd",
        "/url",
        "/method",
        "/headers",
        "/body",
        "/expectedStatusCodes/1",
        "/expectedStatusCodes/2",
        "/query/q",
        "/secret",
        "/lookup/url",
        "/lookup/expectedStatusCodes",
        "/lookup/happened/pointer",
    ] {
        assert!(pointers.contains(&pointer), "{pointer} is missing in {found:?}");
    }
    assert!(
        found.contains(&(
            "/methd".to_owned(),
            "unknown key `methd`; did you mean `method`?".to_owned()
        )),
        "{found:?}"
    );
}

#[test]
fn a_configuration_of_the_wrong_shape_is_a_problem_and_no_panic() {
    assert_eq!(problems(&json!([]))[0].0, "");
    assert_eq!(problems(&Value::Null)[0].0, "/url");
    assert_eq!(problems(&json!({"url": ""}))[0].0, "/url");
    let both = problems(&json!({"url": "https://example.com/", "secret": "AQ==", "signingSecret": "AQ=="}));
    assert_eq!(both[0].0, "/signingSecret");
    let signed = json!({"url": "https://example.com/", "secret": "AQ==", "headers": {"Webhook-Id": "x"}});
    assert_eq!(problems(&signed)[0].0, "/headers");
}

#[test]
fn destination_and_permissions_name_the_host() {
    let config = json!({"url": "https://Example.com/x", "lookup": {"url": "http://[::1]:81/"}});
    assert_eq!(
        runner().destination("webhook", &config).as_deref(),
        Some("example.com:443")
    );
    let objects: Vec<String> = runner()
        .permissions("webhook", &config)
        .into_iter()
        .map(|one| one.object)
        .collect();
    assert_eq!(objects, ["example.com:443", "[::1]:81"]);
    let open = json!({"url": "{{execution.variables.url}}"});
    assert_eq!(runner().destination("webhook", &open), None);
    assert_eq!(
        runner().permissions("webhook", &open)[0].object,
        "{{execution.variables.url}}"
    );
}
