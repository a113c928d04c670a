//! Replies of every kind from real servers, each with its outcome.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Outcome, Verdict};
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Manual;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::body::{KEPT_BYTES_MAX, READ_BYTES_MAX};
use super::*;
use crate::http::outbound::{Guard, Lookup, Options};
use crate::testing::{self, Act, NOW, Server, bounded, client, error, reply, result};

fn request(url: &str, millis: u64) -> Request {
    Request {
        method: method("POST").unwrap(),
        url: super::url(url).unwrap(),
        headers: HeaderMap::new(),
        body: Some(b"{}".to_vec()),
        timeout: Duration::from_millis(millis),
    }
}

/// Sends and judges, as a runner would.
async fn call(client: &Client, request: Request, expected: Option<&[u16]>) -> Outcome {
    let sent = bounded(client.send(request))
        .await
        .and_then(|reply| reply.judge(expected));
    sent.map_or_else(|failed| *failed, |reply| Outcome::done(reply.result()))
}

async fn answer(act: Act, expected: Option<&[u16]>) -> Outcome {
    let server = Server::start([act]).await;
    call(&client(), request(&server.url("/"), 5_000), expected).await
}

/// What the outcome is and why.
fn summary(outcome: &Outcome) -> (Verdict, &str) {
    (outcome.verdict(), &error(outcome).kind)
}

#[tokio::test]
async fn every_status_has_the_verdict_and_the_type_of_the_design() {
    let table = [
        (301, Verdict::NotDone, kind::UNEXPECTED_STATUS),
        (304, Verdict::NotDone, kind::UNEXPECTED_STATUS),
        (400, Verdict::NotDone, kind::MALFORMED_REQUEST),
        (401, Verdict::NotDone, kind::AUTHENTICATION_FAILED),
        (403, Verdict::NotDone, kind::AUTHORIZATION_FAILED),
        (404, Verdict::NotDone, kind::NOT_FOUND),
        (408, Verdict::NotDone, kind::TIMEOUT),
        (409, Verdict::NotDone, kind::CONFLICT),
        (422, Verdict::NotDone, kind::MALFORMED_REQUEST),
        (425, Verdict::NotDone, kind::TIMEOUT),
        (429, Verdict::NotDone, kind::RATE_LIMIT),
        (500, Verdict::Unknown, kind::SERVICE_UNAVAILABLE),
        (502, Verdict::Unknown, kind::SERVICE_UNAVAILABLE),
        (503, Verdict::NotDone, kind::SERVICE_UNAVAILABLE),
        (504, Verdict::Unknown, kind::SERVICE_UNAVAILABLE),
        (600, Verdict::Unknown, kind::UNEXPECTED_STATUS),
    ];
    for (status, verdict, kind) in table {
        let outcome = answer(reply(status, "", ""), None).await;
        assert_eq!(summary(&outcome), (verdict, kind), "{status}");
        assert_eq!(error(&outcome).code.as_deref(), Some(status.to_string().as_str()));
    }
    for status in [200, 201, 202, 204, 299] {
        assert_eq!(result(&answer(reply(status, "", ""), None).await)["statusCode"], status);
    }
}

#[tokio::test]
async fn expected_status_codes_are_the_whole_truth() {
    let unlisted = answer(reply(204, "", ""), Some(&[200])).await;
    assert_eq!(summary(&unlisted), (Verdict::Unknown, kind::UNEXPECTED_STATUS));
    let listed = answer(reply(404, "", ""), Some(&[200, 404])).await;
    assert_eq!(result(&listed)["statusCode"], 404);
    let redirect = answer(reply(302, "", ""), Some(&[302])).await;
    assert_eq!(result(&redirect)["statusCode"], 302);
    let error = answer(reply(500, "", ""), Some(&[200])).await;
    assert_eq!(summary(&error), (Verdict::Unknown, kind::SERVICE_UNAVAILABLE));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Server::start([reply(200, "", "")]).await;
    let location = format!("location: {}\r\n", target.url("/elsewhere"));
    let outcome = answer(reply(307, &location, ""), None).await;
    assert_eq!(summary(&outcome), (Verdict::NotDone, kind::UNEXPECTED_STATUS));
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_refused_connection_is_not_done() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let outcome = call(&client(), request(&format!("http://{closed}/"), 5_000), None).await;
    assert_eq!(summary(&outcome), (Verdict::NotDone, kind::NETWORK_ERROR));
}

/// A port that lets no further connection stand: its queue is full and nobody accepts.
fn full_port() -> (
    tokio::net::TcpListener,
    Vec<tokio::task::JoinHandle<io::Result<TcpStream>>>,
) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let held = (0..4).map(|_| tokio::spawn(TcpStream::connect(address))).collect();
    (listener, held)
}

#[tokio::test]
async fn a_connection_that_does_not_stand_in_time_is_not_done_however_little_time_there_is() {
    for millis in [200, 500, 1_500] {
        let (port, held) = full_port();
        let url = format!("http://{}/", port.local_addr().unwrap());
        // The queue holds one connection; from the second on they wait.
        testing::until(|| held.iter().any(tokio::task::JoinHandle::is_finished)).await;
        let outcome = call(&client(), request(&url, millis), None).await;
        assert_eq!(summary(&outcome), (Verdict::NotDone, kind::TIMEOUT), "{outcome:?}");
        held.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_up_leaves_it_unknown_and_is_asked_only_once() {
    let server = Server::start([Act::HangUp]).await;
    let outcome = call(&client(), request(&server.url("/"), 5_000), None).await;
    assert_eq!(summary(&outcome), (Verdict::Unknown, kind::NETWORK_ERROR));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_receiver_that_hangs_up_before_it_read_anything_leaves_it_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let accepted = tokio::spawn(async move { drop(listener.accept().await) });
    let outcome = call(&client(), request(&url, 5_000), None).await;
    assert_eq!(summary(&outcome), (Verdict::Unknown, kind::NETWORK_ERROR));
    accepted.await.unwrap();
}

#[tokio::test]
async fn an_answer_that_comes_too_late_leaves_it_unknown() {
    let server = Server::start([Act::Silence]).await;
    let outcome = call(&client(), request(&server.url("/"), 1_500), None).await;
    assert_eq!(summary(&outcome), (Verdict::Unknown, kind::TIMEOUT));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_it_unknown() {
    let cut = |status| Act::Cut(format!("HTTP/1.1 {status} X\r\ncontent-length: 100\r\n\r\n{{\"a\":").into_bytes());
    assert_eq!(
        summary(&answer(cut(200), None).await),
        (Verdict::Unknown, kind::NETWORK_ERROR)
    );
    assert_eq!(
        summary(&answer(cut(404), None).await),
        (Verdict::NotDone, kind::NOT_FOUND),
        "the status said so"
    );
    let head = Act::Cut(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec());
    assert_eq!(
        summary(&answer(head, None).await),
        (Verdict::Unknown, kind::NETWORK_ERROR)
    );
}

#[tokio::test]
async fn an_answer_that_is_not_http_leaves_it_unknown() {
    let outcome = answer(Act::Cut(b"220 mail.example ESMTP\r\n".to_vec()), None).await;
    assert_eq!(summary(&outcome), (Verdict::Unknown, kind::NETWORK_ERROR));
}

#[tokio::test]
async fn an_endless_reply_is_read_to_a_bound_and_kept_to_a_smaller_one() {
    let server = Server::start([Act::Endless]).await;
    let outcome = call(&client(), request(&server.url("/"), 30_000), None).await;
    let result = result(&outcome);
    assert_eq!(result["truncated"], true);
    assert_eq!(result["data"].as_str().unwrap().len(), KEPT_BYTES_MAX);
    // Beyond the bound there is only what sockets buffer.
    assert!(server.sent() < READ_BYTES_MAX + 16 * 1024 * 1024, "{}", server.sent());
}

#[tokio::test]
async fn a_reply_that_comes_one_byte_at_a_time_is_read() {
    let bytes = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"ok\": true}";
    let outcome = answer(Act::Drip(bytes.to_vec()), None).await;
    assert_eq!(result(&outcome)["data"], json!({"ok": true}));
}

#[tokio::test]
async fn a_reply_that_never_ends_meets_the_deadline() {
    let server = Server::start([Act::Trickle]).await;
    let outcome = call(&client(), request(&server.url("/"), 1_500), None).await;
    assert_eq!(summary(&outcome), (Verdict::Unknown, kind::TIMEOUT));
}

#[tokio::test]
async fn a_failed_handshake_is_not_done() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 16];
        stream.read_exact(&mut hello).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
    });
    let outcome = call(&client(), request(&url, 5_000), None).await;
    assert_eq!(
        summary(&outcome),
        (Verdict::NotDone, kind::NETWORK_ERROR),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_not_done() {
    let server = Server::start([Act::Silence]).await;
    let url = server.url("/").replace("http://", "https://");
    let outcome = call(&client(), request(&url, 1_500), None).await;
    assert_eq!(summary(&outcome), (Verdict::NotDone, kind::TIMEOUT), "{outcome:?}");
}

/// A resolver that knows one answer.
struct Fixed(Vec<IpAddr>);

impl Lookup for Fixed {
    fn lookup<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

fn resolving(answer: &[&str], allow: &[&str]) -> Client {
    let lookup = Fixed(answer.iter().map(|text| text.parse().unwrap()).collect());
    let options = Options {
        allow: allow.iter().map(ToString::to_string).collect(),
    };
    Client::new(
        Guard::with_lookup(&options, Arc::new(lookup)).unwrap(),
        Arc::new(Manual::new(NOW)),
    )
    .unwrap()
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_never_connected_to() {
    let server = Server::start([reply(200, "", "")]).await;
    let url = format!("http://crm.example:{}/", server.address.port());
    let outcome = call(&resolving(&["127.0.0.1"], &[]), request(&url, 5_000), None).await;
    assert_eq!(summary(&outcome), (Verdict::NotDone, kind::INVALID_CONFIGURATION));
    assert!(
        error(&outcome)
            .message
            .contains(r#"[outbound] allow = ["127.0.0.0/8"]"#),
        "{outcome:?}"
    );
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_checked() {
    let server = Server::start([reply(200, "", "")]).await;
    let url = format!("http://crm.example:{}/", server.address.port());
    let outcome = call(&resolving(&["127.0.0.1"], &["127.0.0.0/8"]), request(&url, 5_000), None).await;
    assert_eq!(outcome.verdict(), Verdict::Done, "{outcome:?}");
    let host = format!("crm.example:{}", server.address.port());
    assert_eq!(server.requests()[0].header("host"), Some(host.as_str()));
}

#[tokio::test]
async fn a_literal_private_address_is_never_connected_to() {
    let server = Server::start([reply(200, "", "")]).await;
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/", server.address.port());
        let outcome = call(&resolving(&[], &[]), request(&url, 5_000), None).await;
        assert_eq!(
            summary(&outcome),
            (Verdict::NotDone, kind::INVALID_CONFIGURATION),
            "{host}"
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_without_an_address_is_not_done() {
    let outcome = call(&resolving(&[], &[]), request("http://nowhere.example/", 5_000), None).await;
    assert_eq!(summary(&outcome), (Verdict::NotDone, kind::NETWORK_ERROR));
}

#[tokio::test]
async fn retry_after_is_passed_on_in_milliseconds() {
    let table = [
        ("retry-after: 7\r\n", Some(7_000)),
        ("retry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n", Some(30_000)),
        ("retry-after: Sun, 06 Nov 1994 08:00:00 GMT\r\n", Some(0)),
        ("", None),
    ];
    for (header, expected) in table {
        let (Outcome::NotDone(failure) | Outcome::Unknown(failure)) = answer(reply(429, header, ""), None).await else {
            panic!("429 succeeded");
        };
        assert_eq!(failure.retry_after, expected, "{header}");
    }
}

#[tokio::test]
async fn only_listed_response_headers_are_kept() {
    let headers = "set-cookie: session=1\r\nauthorization: Bearer x\r\nx-request-id: 7\r\netag: \"e\"\r\nserver: s\r\n";
    let outcome = answer(reply(200, headers, "hello"), None).await;
    let kept = result(&outcome)["headers"].clone();
    assert_eq!(
        kept,
        json!({"content-length": "5", "etag": "\"e\"", "x-request-id": "7"})
    );
}

#[tokio::test]
async fn the_body_is_parsed_if_it_is_json() {
    let table = [
        ("content-type: application/json\r\n", r#"{"a": [1]}"#, json!({"a": [1]})),
        (
            "content-type: application/problem+json; charset=utf-8\r\n",
            "7",
            json!(7),
        ),
        ("", "[1]", json!([1])),
        ("content-type: application/json\r\n", "{broken", json!("{broken")),
        ("content-type: text/plain\r\n", "7", json!("7")),
        ("", "hello", json!("hello")),
        ("content-type: application/json\r\n", "", Value::Null),
    ];
    for (headers, body, data) in table {
        assert_eq!(
            result(&answer(reply(200, headers, body), None).await)["data"],
            data,
            "{headers}{body}"
        );
    }
}

#[tokio::test]
async fn an_error_carries_the_reply_but_no_more_of_it_than_a_person_reads() {
    let outcome = answer(
        reply(422, "content-type: application/json\r\n", r#"{"field": "email"}"#),
        None,
    )
    .await;
    let details = error(&outcome).details.clone().unwrap();
    assert_eq!(
        (&details["statusCode"], &details["data"]),
        (&json!(422), &json!({"field": "email"}))
    );
    let outcome = answer(reply(422, "", &"x".repeat(50_000)), None).await;
    assert!(error(&outcome).details.clone().unwrap()["data"].as_str().unwrap().len() < 3_000);
}

#[tokio::test]
async fn no_error_shows_the_url_which_may_hold_a_secret() {
    let server = Server::start([Act::HangUp]).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [
        server.url("/hook?token=s3cr3t"),
        format!("http://{closed}/hook?token=s3cr3t"),
    ] {
        let outcome = call(&client(), request(&url, 5_000), None).await;
        assert!(!format!("{outcome:?}").contains("s3cr3t"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start([reply(200, "", "")]).await;
    let client = client();
    for _ in 0..3 {
        assert_eq!(
            call(&client, request(&server.url("/"), 5_000), None).await.verdict(),
            Verdict::Done
        );
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 3));
}

#[test]
fn a_proxy_in_the_environment_is_ignored() {
    let proxies =
        ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"].map(|name| (name, "http://127.0.0.1:1".to_owned()));
    if !testing::is_child("http::tests::a_proxy_in_the_environment_is_ignored", &proxies) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let outcome = answer(reply(200, "", ""), None).await;
        assert_eq!(outcome.verdict(), Verdict::Done, "{outcome:?}");
    });
}

#[test]
fn methods_are_those_of_the_list_in_any_case() {
    assert_eq!(method("post").unwrap().as_str(), "POST");
    for text in ["CONNECT", "TRACE", "", "GE T", "POST\r\nX: y"] {
        assert_eq!(method(text), Err(RequestError::Method), "{text}");
    }
}

#[test]
fn urls_are_http_or_https() {
    assert!(super::url("https://example.com/x?y=1").is_ok());
    assert_eq!(
        super::url("ftp://example.com/"),
        Err(RequestError::Scheme("ftp".to_owned()))
    );
    assert_eq!(
        super::url("file:///etc/passwd"),
        Err(RequestError::Scheme("file".to_owned()))
    );
    for text in ["", "/path", "example.com", "http://", "http://exa mple/"] {
        assert_eq!(super::url(text), Err(RequestError::Url), "{text}");
    }
}

#[test]
fn headers_that_would_change_the_message_are_refused_by_name() {
    let named = |error: fn(String) -> RequestError, name: &str| Err(vec![error(name.to_owned())]);
    assert_eq!(headers([("X-A", "1\r\nX-B: 2")]), named(RequestError::LineBreak, "X-A"));
    assert_eq!(headers([("X-A", "1\n2")]), named(RequestError::LineBreak, "X-A"));
    assert_eq!(headers([("X-A", "1\u{0}2")]), named(RequestError::HeaderValue, "X-A"));
    assert_eq!(headers([("X A", "1")]), named(RequestError::HeaderName, "X A"));
    assert_eq!(headers([("", "1")]), named(RequestError::HeaderName, ""));
    assert_eq!(headers([("Host", "x")]), named(RequestError::Reserved, "Host"));
    assert_eq!(
        headers([("Transfer-Encoding", "chunked")]),
        named(RequestError::Reserved, "Transfer-Encoding")
    );
    assert_eq!(headers([("X-A", "1"), ("x-a", "2")]), named(RequestError::Twice, "x-a"));
    assert_eq!(
        headers([("X-A", "x".repeat(9_000).as_str())]),
        named(RequestError::TooLong, "X-A")
    );
    let many: Vec<String> = (0..65).map(|number| format!("x-{number}")).collect();
    assert_eq!(
        headers(many.iter().map(|name| (name.as_str(), "1"))),
        Err(vec![RequestError::TooMany])
    );
    assert_eq!(
        headers([("X-A", "größe")]).unwrap()["x-a"].as_bytes(),
        "größe".as_bytes()
    );
}

#[test]
fn every_bad_header_is_reported() {
    assert_eq!(
        headers([("A A", "1"), ("B", "\n"), ("C", "fine")]).unwrap_err().len(),
        2
    );
}
