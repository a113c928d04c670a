//! The faults of the actions' seed document, D18 to D22 of the list of defects: each once, against the real binary and a
//! real HTTP server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
const SECRET: &str = "s3cr3t-of-the-crm-7731";

/// An HTTP server that answers `/status/N` with status N, and gives back what it was sent.
struct Peer {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                answer(stream, &kept);
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
    let length: usize = head.lines().find_map(length).unwrap_or(0);
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let status = head
        .split(['/', ' '])
        .skip_while(|part| *part != "status")
        .nth(1)
        .unwrap_or("200")
        .to_owned();
    kept.lock().unwrap().push(head);
    // The other side says the secret back, wherever it can.
    let echo = format!("{{\"you sent\": \"{SECRET}\"}}");
    let reply = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nx-echo: {SECRET}\r\nset-cookie: {SECRET}\r\n\
         retry-after: 2\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{echo}",
        echo.len()
    );
    let _ = stream.write_all(reply.as_bytes());
}

fn start(store: &Path) -> Product {
    Product::start(store, &[("SPRAG_SECRET_TOKEN", SECRET)])
}

/// A machine with one webhook.
fn machine(config: &Value, policy: &Value) -> Value {
    json!({
        "id": "calling",
        "variables": { "path": "/status/200" },
        "initial": "a",
        "states": { "a": {} },
        "actions": [{
            "actionId": "call", "type": "webhook", "triggerState": "a", "config": config, "retryPolicy": policy,
        }],
    })
}

/// The webhook of a new execution, once it has ended or waits for another attempt.
fn call(client: &mut Client, machine: &Value, path: &str) -> Value {
    let applied = client.post("/v1/machines", machine).unwrap();
    assert!(matches!(applied.status, 200 | 201), "{applied:?}");
    let body = json!({"machine": "calling", "variables": {"path": path}});
    let started = client.post("/v1/executions", &body).unwrap();
    let id = started.body["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{started:?}"))
        .to_owned();
    wait::until("the webhook to be tried", GUARD, || {
        let list = client.get(&format!("/v1/actions?executionId={id}")).unwrap().body;
        let action = list["data"][0].clone();
        let is_over = ["succeeded", "dead", "retrying"]
            .iter()
            .any(|status| action["status"] == *status);
        is_over.then_some(action)
    })
}

#[test]
fn d18_the_url_and_the_headers_of_a_webhook_are_templates_too() {
    let folder = tempfile::tempdir().unwrap();
    let product = start(&folder.path().join("sprag.db"));
    let peer = Peer::start();
    let config = json!({
        "url": format!("http://{}{{{{variables.path}}}}/orders", peer.address),
        "headers": { "authorization": "Bearer {{secrets.token}}" },
    });
    let action = call(&mut product.client(), &machine(&config, &json!({})), "/status/200");
    assert_eq!(action["status"], "succeeded", "{action}");
    let heard = peer.heard().remove(0);
    assert!(heard.starts_with("POST /status/200/orders HTTP/1.1"), "{heard}");
    assert!(heard.contains(&format!("Bearer {SECRET}")), "{heard}");
}

#[test]
fn d19_expected_status_codes_are_the_whole_truth() {
    let folder = tempfile::tempdir().unwrap();
    let product = start(&folder.path().join("sprag.db"));
    let peer = Peer::start();
    let url = format!("http://{}{{{{variables.path}}}}", peer.address);
    let config = json!({ "url": url, "expectedStatusCodes": [201, 404] });
    let machine = machine(&config, &json!({}));
    for (status, expected) in [(200, "dead"), (302, "dead"), (201, "succeeded"), (404, "succeeded")] {
        let action = call(&mut product.client(), &machine, &format!("/status/{status}"));
        assert_eq!(action["status"], expected, "{status}: {action}");
    }
}

#[test]
fn d20_client_errors_have_their_types_and_are_not_retried_and_retry_after_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let product = start(&folder.path().join("sprag.db"));
    let peer = Peer::start();
    let url = format!("http://{}{{{{variables.path}}}}", peer.address);
    let policy = json!({ "baseDelay": 1, "maxDelay": 1000 });
    let machine = machine(&json!({ "url": url }), &policy);
    for (status, kind) in [
        (400, "malformed_request"),
        (404, "not_found"),
        (409, "conflict"),
        (422, "malformed_request"),
    ] {
        let action = call(&mut product.client(), &machine, &format!("/status/{status}"));
        let said = (
            &action["status"],
            &action["lastError"]["type"],
            action["attempts"].as_array().map(Vec::len),
        );
        assert_eq!(said, (&json!("dead"), &json!(kind), Some(1)), "{status}: {action}");
    }
    let action = call(&mut product.client(), &machine, "/status/429");
    assert_eq!(action["status"], "retrying", "{action}");
    let at = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
    let waits = at(&action["runAt"]).since(at(&action["attempts"][0]["endTime"]));
    assert!(waits >= 2_000, "asked for 2 s, waits {waits} ms");
}

#[test]
fn d21_no_failure_is_deleted_because_there_are_many() {
    const LETTERS: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let doomed = json!({
        "id": "doomed", "initial": "a", "states": { "a": {} },
        "actions": [{
            "actionId": "act", "type": "fail", "triggerState": "a", "retryPolicy": { "maxAttempts": 1 },
            "config": { "type": "not_found", "message": "nobody" },
        }],
    });
    let product = start(&store);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &doomed).unwrap().status, 201);
    for _ in 0..LETTERS {
        assert_eq!(
            client
                .post("/v1/executions", &json!({"machine": "doomed"}))
                .unwrap()
                .status,
            201
        );
    }
    let all = |client: &mut Client| {
        let letters = client.get("/v1/dead-letters?limit=1000").unwrap().body;
        letters["data"].as_array().map_or(0, Vec::len)
    };
    wait::until("all to be dead", GUARD, || (all(&mut client) == LETTERS).then_some(()));
    product.kill();
    let product = start(&store);
    assert_eq!(all(&mut product.client()), LETTERS, "and all are there after a kill");
}

#[test]
fn d22_no_secret_reaches_the_database_or_the_api_whoever_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let product = start(&store);
    let peer = Peer::start();
    let config = json!({
        "url": format!("http://{}{{{{variables.path}}}}", peer.address),
        "headers": { "authorization": "Bearer {{secrets.token}}" },
        "payload": { "key": "{{secrets.token}}" },
    });
    let machine = machine(&config, &json!({ "maxAttempts": 1 }));
    let mut client = product.client();
    let mut said = String::new();
    for status in [200, 500, 422] {
        let action = call(&mut client, &machine, &format!("/status/{status}"));
        let id = action["id"].as_str().unwrap();
        said.push_str(&action.to_string());
        said.push_str(&client.get(&format!("/v1/dead-letters/{id}")).unwrap().body.to_string());
        let execution = action["executionId"].as_str().unwrap();
        said.push_str(
            &client
                .get(&format!("/v1/executions/{execution}/history"))
                .unwrap()
                .body
                .to_string(),
        );
    }
    assert!(peer.heard().iter().all(|head| head.contains(SECRET)), "it was sent");
    assert!(said.contains("[secret token]") && !said.contains(SECRET), "{said}");
    assert!(
        !said.contains("set-cookie"),
        "headers are kept from a list only: {said}"
    );
    product.terminate(GUARD);
    for (name, bytes) in store::kept(folder.path()) {
        let is_there = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!is_there, "{name}");
    }
}
