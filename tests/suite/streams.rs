//! Live streams of the real process: no gap across `kill -9`, and nothing to gain by not reading.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sprag_tests::{Client, Event, Product, Stream, wait};

const GUARD: Duration = Duration::from_mins(2);
/// Changes before the readers come: each of them has a history before it that is far larger than what may wait on the way
/// to it.
const BEFORE: u64 = 2_500;
/// Changes that they do not read either.
const CHANGES: u64 = 4_000;
/// What a reader that does not read may cost: buffers, a page of history, and what the allocator keeps for the next. The
/// history is twenty times as much.
const READER_BYTES: u64 = 1024 * 1024;
/// What the store may keep of the file once readers came, however many they are: 8 MiB for each of its four connections.
const CACHE_BYTES: u64 = 4 * 8 * 1024 * 1024;
/// Readers that do not read, of each kind.
const DEAF: u64 = 16;
/// Threads that start executions.
const STARTERS: usize = 4;

fn door() -> serde_json::Value {
    json!({
        "id": "door",
        "initial": "shut",
        "states": { "shut": { "on": { "OPEN": "open", "END": "gone" } }, "open": { "on": { "SHUT": "shut" } }, "gone": { "type": "final" } },
    })
}

fn begin(client: &mut Client, machine: &str) -> String {
    let answer = client.post("/v1/executions", &json!({ "machine": machine })).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

fn send(client: &mut Client, id: &str, kind: &str, payload: &str) {
    let message = json!({ "type": kind, "payload": payload });
    let answer = client.post(&format!("/v1/executions/{id}/messages"), &message).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The number of a sample without labels.
fn sample(address: std::net::SocketAddr, name: &str) -> u64 {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nhost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[test]
fn a_stream_goes_on_after_kill_nine_without_gap_or_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let mut product = Product::start(&store, &[]);
    assert_eq!(product.client().post("/v1/machines", &door()).unwrap().status, 201);
    let id = begin(&mut product.client(), "door");
    let path = format!("/v1/executions/{id}/stream");
    let mut seen: Vec<u64> = Vec::new();
    for life in 0..5 {
        let mut stream = Stream::open(product.address(), &path, seen.last().copied()).unwrap();
        let mut client = product.client();
        // Sent while the stream is read, so that the kill falls between what is durable and what was said.
        let sender = std::thread::spawn({
            let id = id.clone();
            move || {
                for number in 0..200 {
                    let message = json!({ "type": "NOISE", "payload": number });
                    if client.post(&format!("/v1/executions/{id}/messages"), &message).is_err() {
                        return;
                    }
                }
            }
        });
        let enough = seen.len() + 20 + life * 7;
        while seen.len() < enough {
            let event = stream.next().expect("the stream continues");
            seen.extend(event.id);
        }
        product.kill();
        // Whatever was on its way may still be read.
        seen.extend(stream.filter_map(|event| event.id));
        sender.join().unwrap();
        product = Product::start(&store, &[]);
    }
    send(&mut product.client(), &id, "END", "");
    let mut stream = Stream::open(product.address(), &path, seen.last().copied()).unwrap();
    let closed = loop {
        let event = stream.next().expect("the stream continues");
        seen.extend(event.id);
        if event.name == "closed" {
            break event;
        }
    };
    assert_eq!(stream.next(), None, "the stream ends");
    assert_eq!(closed.data["status"], "completed");
    let newest = closed.data["sequence"].as_u64().unwrap();
    assert_eq!(seen, (1..=newest).collect::<Vec<u64>>(), "every entry once, in order");
}

#[test]
fn readers_that_do_not_read_are_dropped_and_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &door()).unwrap().status, 201);
    let id = begin(&mut client, "door");
    let payload = "x".repeat(8_000);
    for _ in 0..BEFORE {
        send(&mut client, &id, "NOISE", &payload);
    }
    let before = product.resident_bytes();
    let path = format!("/v1/executions/{id}/stream");
    let open = |path: &str| Stream::open(product.address(), path, None).unwrap();
    let deaf: Vec<Stream> = (0..DEAF).flat_map(|_| [open(&path), open("/v1/stream")]).collect();
    wait::until("the streams to be open", GUARD, || {
        (sample(product.address(), "sprag_streams_open") == 2 * DEAF).then_some(())
    });
    let mut peak = product.resident_bytes();
    for number in BEFORE..CHANGES {
        send(&mut client, &id, "NOISE", &payload);
        if number % 50 == 0 {
            peak = peak.max(product.resident_bytes());
        }
    }
    println!(
        "{before} bytes before, {peak} at most while {} readers did not read",
        deaf.len()
    );
    assert!(
        before > 0 && peak < before + CACHE_BYTES + 2 * DEAF * READER_BYTES,
        "{before} -> {peak}"
    );
    // Those that follow the execution were sent far more than fits on the way.
    wait::until("those that do not read to be dropped", GUARD, || {
        (sample(product.address(), "sprag_connections_cut_total") >= DEAF).then_some(())
    });
    wait::until("their places to be free", GUARD, || {
        (sample(product.address(), "sprag_streams_open") <= DEAF).then_some(())
    });
    let mut stream = Stream::open(product.address(), &path, Some(CHANGES)).unwrap();
    assert_eq!(
        stream.next().unwrap().id,
        Some(CHANGES + 1),
        "others are served as before"
    );
    // Streams, read or not, do not hold the process: the promise is ten seconds, three times that is a hang.
    let status = product.terminate(Duration::from_secs(30));
    assert!(status.success(), "{status:?}");
    drop(deaf);
}

#[test]
fn a_reader_of_hints_that_fell_behind_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &door()).unwrap().status, 201);
    let mut stream = Stream::open(product.address(), "/v1/stream", None).unwrap();
    wait::until("the stream to be open", GUARD, || {
        (sample(product.address(), "sprag_streams_open") == 1).then_some(())
    });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..STARTERS {
            scope.spawn(|| {
                let mut client = product.client();
                while !over.load(Ordering::SeqCst) {
                    begin(&mut client, "door");
                }
            });
        }
        wait::until("the reader to fall behind", GUARD, || {
            (sample(product.address(), "sprag_streams_lagged_total") > 0).then_some(())
        });
        over.store(true, Ordering::SeqCst);
    });
    let events: Vec<Event> = stream.by_ref().take_while(|event| event.name != "lagged").collect();
    assert!(events.len() > 256, "what was on its way is read: {}", events.len());
    assert!(
        events
            .iter()
            .all(|event| event.name == "hint" && event.data["kind"] == "execution")
    );
    begin(&mut client, "door");
    assert_eq!(
        stream.next().expect("it was told in time").name,
        "hint",
        "and it continues"
    );
}
