//! Bodies of requests: slow ones and large ones take nothing from anybody else.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use sprag_tests::neighbour::beside;
use sprag_tests::{Client, Product, wait};

use super::connections::{all_are_heard, head, may_hold};

/// A hang guard, not a measure. The server gives up on slow bodies after 30 s: a client that had to wait for them must show.
const GUARD: Duration = Duration::from_secs(15);
/// As large as a body may be.
const LARGE_BYTES: usize = 1 << 20;

/// One route of every class, and some that read no body at all.
const ROUTES: [&str; 15] = [
    "POST /v1/kill-switches",
    "POST /v1/kill-switches/x/release",
    "PUT /v1/limits/x",
    "PUT /v1/system/clock",
    "POST /v1/system/backup",
    "POST /v1/jobs/x/pause",
    "POST /v1/executions",
    "POST /v1/executions?wait=20s",
    "POST /v1/machines",
    "POST /v1/messages",
    "POST /v1/hooks/a/b",
    "POST /v1/runners/lease",
    "POST /nothing",
    "GET /healthz",
    "GET /v1/kill-switches",
];

/// A request whose body has only begun.
fn begun(product: &Product, route: &str, length: usize, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect_timeout(&product.address(), GUARD).unwrap();
    let head = format!(
        "{route} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        product.address()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may have answered and closed already: that is one way to bound them.
    let _ = stream.write_all(body);
    stream
}

fn is_refused(stream: &TcpStream) -> bool {
    head(stream).is_some_and(|head| head.contains("503") && head.contains("retry-after: 1"))
}

/// A client whose body comes a moment after its head, as that of many libraries does.
fn in_two_parts(product: &Product) {
    let body = json!({ "machine": "neighbour" }).to_string();
    let mut stream = begun(product, "POST /v1/executions", body.len(), b"");
    std::thread::park_timeout(Duration::from_millis(50));
    stream.write_all(body.as_bytes()).unwrap();
    let answer = wait::until("an answer to a body in two parts", GUARD, || head(&stream));
    assert!(answer.starts_with("http/1.1 201"), "{answer}");
}

#[test]
fn bodies_that_trickle_in_lock_nobody_out() {
    const EACH: usize = 140;
    assert!(may_hold(ROUTES.len() * EACH), "this test needs many open files");
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut slow: Vec<TcpStream> = ROUTES
            .iter()
            .flat_map(|route| std::iter::repeat_n(route, EACH))
            .map(|route| begun(&product, route, 1_000, b"{"))
            .collect();
        for _ in 0..3 {
            for stream in &mut slow {
                let _ = stream.write_all(b" ");
            }
            all_are_heard(&product);
            in_two_parts(&product);
        }
        let operators = &slow[..EACH];
        let refused = operators.iter().filter(|stream| is_refused(stream)).count();
        assert_eq!(refused, EACH, "the oldest made room for the others");
        let mut client = product.client();
        let metrics = client.get("/metrics").unwrap().body;
        let cut = metrics
            .as_str()
            .unwrap()
            .lines()
            .find_map(|line| line.strip_prefix("sprag_bodies_cut_total "));
        assert!(cut.unwrap().parse::<usize>().unwrap() >= EACH);
    });
}

#[test]
fn large_bodies_take_a_bounded_amount_of_memory_and_starve_nobody() {
    const CROWD: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let machine = json!({
        "id": "large",
        "initial": "waiting",
        "variables": { "text": "" },
        "states": { "waiting": { "on": { "go": "over" } }, "over": { "type": "final" } },
    });
    assert_eq!(product.client().post("/v1/machines", &machine).unwrap().status, 201);
    let before = product.resident_bytes();
    let nearly = vec![b' '; LARGE_BYTES - 1];
    beside(&product, || {
        let large: Vec<TcpStream> = (0..CROWD)
            .map(|_| begun(&product, "POST /v1/executions", LARGE_BYTES, &nearly))
            .collect();
        let mut client = Client::within(product.address(), GUARD);
        let start = json!({ "machine": "large", "variables": { "text": "x".repeat(200_000) } });
        for _ in 0..5 {
            let answer = client.post("/v1/executions", &start).unwrap();
            assert_eq!(answer.status, 201, "{}", answer.body["detail"]);
        }
        wait::until("those that do not fit to be refused", GUARD, || {
            let refused = large.iter().filter(|stream| is_refused(stream)).count();
            (refused + 64 >= CROWD).then_some(())
        });
    });
    let grown = product.peak_bytes().saturating_sub(before);
    println!("{CROWD} bodies of 1 MiB that do not end: {} MiB more", grown >> 20);
    // Those that are cut off keep their bytes until their tasks run again, and connections have buffers of their own.
    assert!(grown < 320 << 20, "{} MiB more", grown >> 20);
}

#[test]
fn a_wait_that_is_spelled_differently_takes_nothing_from_reads() {
    const CROWD: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let machine = json!({ "id": "still", "initial": "a", "states": { "a": {} } });
    let mut client = Client::within(product.address(), GUARD);
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    let started = client.post("/v1/executions", &json!({ "machine": "still" })).unwrap();
    let path = format!("/v1/executions/{}", started.body["id"].as_str().unwrap());
    beside(&product, || {
        let waiting: Vec<TcpStream> = (0..CROWD)
            .map(|_| begun(&product, &format!("GET {path}?%77ai%74=60s"), 0, b""))
            .collect();
        all_are_heard(&product);
        assert_eq!(client.get(&path).unwrap().status, 200);
        drop(waiting);
    });
}
