//! Traces of the real binary: a small collector receives them, and the published protobuf definitions decode them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Product, wait};

const GUARD: Duration = Duration::from_mins(1);

/// Prints the spans of requests whose files are its arguments, as JSON.
const DECODE: &str = "
import json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
spans = []
for path in sys.argv[1:]:
    request = ExportTraceServiceRequest()
    request.ParseFromString(open(path, 'rb').read())
    for resource in request.resource_spans:
        about = {a.key: a.value.string_value for a in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                found = MessageToDict(span)
                found['traceId'], found['spanId'] = span.trace_id.hex(), span.span_id.hex()
                found['parentSpanId'] = span.parent_span_id.hex()
                found['service'], found['scope'] = about.get('service.name'), scope.scope.name
                spans.append(found)
json.dump(spans, sys.stdout)
";

/// A request that arrived.
#[derive(Clone, Debug)]
struct Arrived {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Arrived {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Takes requests and keeps them; its first answers are these, and then it is content.
struct Endpoint {
    address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Endpoint {
    fn start(first: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let arrived: Arc<Mutex<Vec<Arrived>>> = Arc::default();
        let kept = Arc::clone(&arrived);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(request) = receive(&stream) else { continue };
                let mut kept = kept.lock().unwrap();
                let status = first.get(kept.len()).unwrap_or(&"200 OK");
                kept.push(request);
                let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                // Whoever asked may have gone.
                let _ = (&stream).write_all(reply.as_bytes());
            }
        });
        Self { address, arrived }
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

fn receive(stream: &TcpStream) -> Option<Arrived> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Arrived { path, headers, body })
}

/// The Python that has the published definitions, where `make tools` puts it.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let python = root.join("target/tools/opentelemetry/bin/python");
    if python.is_file() {
        return Some(python);
    }
    println!("skipped: {} is missing; `make tools` installs it", python.display());
    None
}

fn decode(python: &Path, folder: &Path, requests: &[Arrived]) -> Vec<Value> {
    let mut command = Command::new(python);
    command.args(["-c", DECODE]).stderr(Stdio::inherit());
    for (position, request) in requests.iter().enumerate() {
        let file = folder.join(format!("request-{position}"));
        std::fs::write(&file, &request.body).unwrap();
        command.arg(file);
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn attribute<'a>(span: &'a Value, name: &str) -> Option<&'a Value> {
    let attributes = span["attributes"].as_array()?.iter();
    let found = attributes.into_iter().find(|attribute| attribute["key"] == name)?;
    found["value"].as_object()?.values().next()
}

/// A machine whose webhook fails once and then succeeds.
fn machine(receiver: SocketAddr) -> Value {
    json!({
        "id": "traced",
        "initial": "calling",
        "states": {
            "calling": {"on": {"done.call": "waiting"}},
            "waiting": {"on": {"GO": "over"}},
            "over": {"type": "final"}
        },
        "actions": [{
            "actionId": "call",
            "type": "webhook",
            "triggerState": "calling",
            "config": {"url": format!("http://{receiver}/hook"), "payload": {"a": 1}},
            "retryPolicy": {"baseDelay": 10, "maxAttempts": 3}
        }]
    })
}

/// Runs one execution of the machine to its end; its id.
fn run(product: &Product, receiver: &Endpoint) -> String {
    let mut client = product.client();
    assert_eq!(
        client.post("/v1/machines", &machine(receiver.address)).unwrap().status,
        201
    );
    let started = client
        .post("/v1/executions", &json!({"machine": "traced", "key": "k-1"}))
        .unwrap();
    let id = started.body["id"].as_str().unwrap().to_owned();
    wait::until("the webhook to be done", GUARD, || {
        let execution = client.get(&format!("/v1/executions/{id}")).ok()?.body;
        (execution["configuration"] == json!(["waiting"])).then_some(())
    });
    let sent = client.post(&format!("/v1/executions/{id}/messages"), &json!({"type": "GO"}));
    assert_eq!(sent.unwrap().status, 200);
    id
}

#[test]
fn one_trace_per_execution_with_its_transitions_and_attempts_decodes_by_the_published_definitions() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (collector, receiver) = (Endpoint::start(&["503 Busy"]), Endpoint::start(&["503 Busy"]));
    let endpoint = format!("http://{}", collector.address);
    let environment = [("SPRAG_TELEMETRY_OTLP_ENDPOINT", endpoint.as_str())];
    let product = Product::start(&folder.path().join("sprag.db"), &environment);
    let id = run(&product, &receiver);
    // The first request is refused for now and sent again: what arrived last is what counts.
    let spans = wait::until("all spans", GUARD, || {
        let taken: Vec<Arrived> = collector.arrived().into_iter().skip(1).collect();
        let spans = decode(&python, folder.path(), &taken);
        let is_whole = spans.iter().any(|span| span["name"] == "traced");
        is_whole.then_some(spans)
    });
    for request in collector.arrived() {
        assert_eq!(request.path, "/v1/traces");
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    }
    let trace = spans[0]["traceId"].as_str().unwrap().to_owned();
    assert!(spans.iter().all(|span| span["traceId"] == trace.as_str()), "{spans:#?}");
    assert!(
        spans
            .iter()
            .all(|span| span["service"] == "sprag" && span["scope"] == "sprag")
    );
    let execution = spans.iter().find(|span| span["name"] == "traced").unwrap();
    assert_eq!(attribute(execution, "sprag.execution.id"), Some(&json!(id)));
    assert_eq!(attribute(execution, "sprag.execution.key"), Some(&json!("k-1")));
    assert_eq!(attribute(execution, "sprag.status"), Some(&json!("completed")));
    let root = execution["spanId"].as_str().unwrap();
    let under = spans.iter().filter(|span| span["parentSpanId"] == root);
    let mut names: Vec<&str> = under.map(|span| span["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let expected = [
        "call attempt 1",
        "call attempt 2",
        "traced GO",
        "traced done.call",
        "traced start",
    ];
    assert_eq!(names, expected);
    propagated(&spans, &trace, &receiver);
    let metrics = product.client().get("/metrics").unwrap().body;
    let metrics = metrics.as_str().unwrap();
    assert!(
        metrics.contains("sprag_trace_spans_total{result=\"exported\"} 6"),
        "{metrics}"
    );
    assert!(
        metrics.contains("sprag_trace_spans_total{result=\"dropped\"} 0"),
        "{metrics}"
    );
}

/// What was sent names the attempt's own span, and its idempotency key does not change with it.
fn propagated(spans: &[Value], trace: &str, receiver: &Endpoint) {
    let requests = receiver.arrived();
    assert_eq!(requests.len(), 2);
    for (number, request) in (1..).zip(&requests) {
        let attempt = spans
            .iter()
            .find(|span| span["name"] == format!("call attempt {number}"))
            .unwrap();
        let expected = format!("00-{trace}-{}-01", attempt["spanId"].as_str().unwrap());
        assert_eq!(request.header("traceparent"), Some(expected.as_str()));
        assert_eq!(request.header("idempotency-key"), requests[0].header("idempotency-key"));
    }
    let failed = spans.iter().find(|span| span["name"] == "call attempt 1").unwrap();
    assert_eq!(attribute(failed, "error.type"), Some(&json!("service_unavailable")));
    assert_eq!(failed["status"]["code"], "STATUS_CODE_ERROR");
    assert_eq!(failed["kind"], "SPAN_KIND_CLIENT");
}

#[test]
fn a_collector_that_is_not_there_holds_nobody_up_and_without_one_nothing_is_propagated() {
    let folder = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{closed}");
    let environment = [("SPRAG_TELEMETRY_OTLP_ENDPOINT", endpoint.as_str())];
    let product = Product::start(&folder.path().join("one.db"), &environment);
    let receiver = Endpoint::start(&[]);
    run(&product, &receiver);
    assert!(receiver.arrived()[0].header("traceparent").is_some());
    let product = Product::start(&folder.path().join("two.db"), &[]);
    let receiver = Endpoint::start(&[]);
    run(&product, &receiver);
    assert_eq!(receiver.arrived()[0].header("traceparent"), None);
    let metrics = product.client().get("/metrics").unwrap().body;
    assert!(!metrics.as_str().unwrap().contains("sprag_trace_spans_total"));
}
