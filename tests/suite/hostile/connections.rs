//! Connections: idle ones, long polls and streams never lock out operators.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use sprag_tests::neighbour::beside;
use sprag_tests::{Client, Product};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_secs(30);
/// More connections than a server has seats.
const CROWD: usize = 6_000;

/// Lets this process, and the server it starts, hold as many connections as the system allows. Says whether that is enough.
pub(super) fn may_hold(connections: usize) -> bool {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    limits
        .maximum
        .is_none_or(|most| most >= u64::try_from(connections).unwrap() + 200)
}

/// Everybody who must be heard is: health checks, operators, and those who start something.
pub(super) fn all_are_heard(product: &Product) {
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/v1/system",
        "/v1/kill-switches",
        "/v1/limits",
    ] {
        // Each on a connection of its own.
        let answer = Client::within(product.address(), GUARD).get(path);
        assert_eq!(answer.unwrap().status, 200, "{path}");
    }
    let switch = json!({ "scope": "type:webhook", "reason": "a test" });
    let mut operator = Client::within(product.address(), GUARD);
    let on = operator.post("/v1/kill-switches", &switch).unwrap();
    assert_eq!(on.status, 201, "{}", on.body);
    let release = format!("/v1/kill-switches/{}/release", on.body["id"].as_str().unwrap());
    assert_eq!(operator.post(&release, &json!({})).unwrap().status, 200);
    let listed = Client::within(product.address(), GUARD)
        .get("/v1/executions?limit=1")
        .unwrap();
    assert_eq!(listed.status, 200, "{}", listed.body);
}

fn crowd(product: &Product, say: &str) -> Vec<TcpStream> {
    (0..CROWD)
        .map(|_| {
            let mut stream = TcpStream::connect_timeout(&product.address(), GUARD).unwrap();
            stream.write_all(say.as_bytes()).unwrap();
            stream
        })
        .collect()
}

#[test]
fn connections_that_say_nothing_lock_nobody_out() {
    assert!(may_hold(CROWD), "this test needs {CROWD} open files");
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let silent = crowd(&product, "");
        all_are_heard(&product);
        drop(silent);
        let halfway = crowd(&product, "GET /v1/executions HTTP/1.1\r\nhost: localh");
        all_are_heard(&product);
        drop(halfway);
    });
}

/// The head of an answer, once the server says something.
pub(super) fn head(stream: &TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(read) if read > 0 && line != "\r\n" => head.push_str(&line.to_lowercase()),
            _ => return (!head.is_empty()).then_some(head),
        }
    }
}

fn poll(address: SocketAddr) -> String {
    let body = r#"{"types":["nothing"],"wait":"60s"}"#;
    let length = body.len();
    format!(
        "POST /v1/runners/lease HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn programs_that_wait_for_work_lock_nobody_out() {
    assert!(may_hold(CROWD), "this test needs {CROWD} open files");
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let polls = crowd(&product, &poll(product.address()));
        all_are_heard(&product);
        let refused = polls.iter().rev().find_map(head).expect("one of so many is refused");
        assert!(
            refused.contains("503") && refused.contains("retry-after: 1"),
            "{refused}"
        );
        drop(polls);
    });
}

#[test]
fn streams_lock_nobody_out() {
    const STREAMS: usize = 700;
    assert!(may_hold(CROWD), "this test needs {CROWD} open files");
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut streams: Vec<TcpStream> = Vec::new();
        let mut refused = 0;
        for _ in 0..STREAMS {
            let mut stream = TcpStream::connect_timeout(&product.address(), GUARD).unwrap();
            stream.set_read_timeout(Some(GUARD)).unwrap();
            write!(stream, "GET /v1/stream HTTP/1.1\r\nhost: {}\r\n\r\n", product.address()).unwrap();
            let mut status = [0; 12];
            stream.read_exact(&mut status).unwrap();
            refused += usize::from(&status == b"HTTP/1.1 503");
            streams.push(stream);
        }
        assert_eq!(refused, STREAMS - 512);
        all_are_heard(&product);
    });
}
