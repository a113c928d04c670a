//! Pages and memory: answers are bounded in bytes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::neighbour::beside;
use sprag_tests::{Client, Product, Stream, binary, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(2);
/// The most bytes of a page.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// The variables of a large execution.
const LARGE_BYTES: usize = 250_000;

/// A product with executions of 250 kB, and their ids.
fn with_large(store: &Path, count: usize) -> (Product, Vec<String>) {
    let product = Product::start(store, &[]);
    let machine = json!({
        "id": "large",
        "initial": "waiting",
        "variables": { "text": "" },
        "states": { "waiting": { "on": { "go": "over" } }, "over": { "type": "final" } },
    });
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    let start = json!({ "machine": "large", "variables": { "text": "x".repeat(LARGE_BYTES) } });
    let ids = (0..count).map(|_| {
        let answer = client.post("/v1/executions", &start).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body["detail"]);
        answer.body["id"].as_str().unwrap().to_owned()
    });
    (product, ids.collect())
}

/// Every row of a list, page by page. No page is larger than it may be, and none is empty.
fn walk(client: &mut Client, path: &str) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), path.to_owned());
    loop {
        let answer = client.get(&next).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let bytes = answer.body.to_string().len();
        assert!(bytes <= PAGE_BYTES_MAX, "{path}: a page of {bytes} bytes");
        let page = answer.body["data"].as_array().unwrap().clone();
        assert!(!page.is_empty(), "{path}: an empty page");
        rows.extend(page);
        match answer.body["nextCursor"].as_str() {
            Some(cursor) => next = format!("{path}&cursor={cursor}"),
            None => return rows,
        }
    }
}

fn ids(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn pages_of_large_executions_are_short_and_lead_to_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (product, started) = with_large(&folder.path().join("sprag.db"), 40);
    beside(&product, || {
        let rows = walk(&mut product.client(), "/v1/executions?machine=large&limit=1000");
        assert_eq!(rows.len(), 40, "none is shown twice");
        assert_eq!(ids(&rows), started.iter().cloned().collect());
        let listed = Command::new(binary("sprag"))
            .args([
                "exec",
                "list",
                "--machine",
                "large",
                "--limit",
                "30",
                "--output",
                "json",
            ])
            .args(["--server", &format!("http://{}", product.address())])
            .output()
            .unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let page: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(
            page["data"].as_array().unwrap().len(),
            30,
            "the command follows short pages"
        );
        assert!(page["nextCursor"].is_string());
    });
}

#[test]
fn history_and_actions_and_streams_of_large_executions_are_bounded_too() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let tell = |state: &str| {
        json!({
            "actionId": format!("tell_{state}"), "type": "telling", "runner": "nobody", "triggerState": state,
            "config": { "text": "{{variables.text}}" },
        })
    };
    let machine = json!({
        "id": "talkative",
        "initial": "one",
        "variables": { "text": "" },
        "states": {
            "one": { "on": { "say": { "target": "other", "assign": { "text": "{{message.payload.text}}" } } } },
            "other": { "on": { "say": { "target": "one", "assign": { "text": "{{message.payload.text}}" } } } },
        },
        "actions": [tell("one"), tell("other")],
    });
    let mut client = product.client();
    let applied = client.post("/v1/machines", &machine).unwrap();
    assert_eq!(applied.status, 201, "{}", applied.body);
    beside(&product, || {
        let started = client
            .post("/v1/executions", &json!({ "machine": "talkative" }))
            .unwrap();
        let id = started.body["id"].as_str().unwrap().to_owned();
        let said = json!({ "type": "say", "payload": { "text": "x".repeat(200_000) } });
        for _ in 0..30 {
            let answer = client.post(&format!("/v1/executions/{id}/messages"), &said).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.body["detail"]);
        }
        let entries = walk(&mut client, &format!("/v1/executions/{id}/history?limit=1000"));
        let sequences: Vec<u64> = entries
            .iter()
            .map(|entry| entry["sequence"].as_u64().unwrap())
            .collect();
        assert_eq!(sequences, (1..=31).collect::<Vec<_>>());
        let actions = walk(&mut client, &format!("/v1/actions?executionId={id}&limit=1000"));
        assert_eq!(actions.len(), 31);
        let events = Stream::open(product.address(), &format!("/v1/executions/{id}/stream"), None).unwrap();
        let (mut seen, mut told) = (0, BTreeSet::new());
        for event in events {
            match event.name.as_str() {
                "history" => seen += 1,
                "action" => {
                    told.insert(event.data["id"].as_str().unwrap().to_owned());
                }
                "execution" => break,
                _ => {}
            }
        }
        assert_eq!(seen, 31);
        let open = actions.iter().filter(|action| {
            let status = action["status"].as_str().unwrap();
            matches!(status, "scheduled" | "queued" | "running" | "retrying")
        });
        assert!(!told.is_empty() && told.len() <= open.count());
    });
}

#[test]
fn an_answer_to_a_program_that_asks_for_work_is_bounded_and_what_does_not_fit_stays_queued() {
    const COUNT: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let machine = json!({
        "id": "rendering",
        "initial": "waiting",
        "variables": { "text": "" },
        "states": { "waiting": { "on": { "done.render": "over" } }, "over": { "type": "final" } },
        "actions": [{
            "actionId": "render", "type": "render", "runner": "gpu", "triggerState": "waiting",
            "config": { "text": "{{variables.text}}" },
        }],
    });
    let mut client = product.client();
    let applied = client.post("/v1/machines", &machine).unwrap();
    assert_eq!(applied.status, 201, "{}", applied.body);
    let start = json!({ "machine": "rendering", "variables": { "text": "x".repeat(LARGE_BYTES) } });
    for _ in 0..COUNT {
        assert_eq!(client.post("/v1/executions", &start).unwrap().status, 201);
    }
    let poll = json!({ "types": ["render"], "max": 100, "wait": "5s" });
    beside(&product, || {
        let mut attempts = BTreeSet::new();
        while attempts.len() < COUNT {
            let answer = client.post("/v1/runners/lease", &poll).unwrap();
            let bytes = answer.body.to_string().len();
            assert!(answer.status == 200 && bytes <= PAGE_BYTES_MAX, "{bytes} bytes");
            let given = answer.body["attempts"].as_array().unwrap();
            assert!(!given.is_empty(), "{} are still queued", COUNT - attempts.len());
            for attempt in given {
                assert_eq!(attempt["number"], 1, "none was given and lost");
                assert!(attempts.insert(attempt["id"].as_str().unwrap().to_owned()));
                let path = format!("/v1/attempts/{}/complete", attempt["id"].as_str().unwrap());
                assert_eq!(client.post(&path, &json!({})).unwrap().status, 200);
            }
            let waiting = client
                .get("/v1/actions?status=queued&type=render&limit=1")
                .unwrap()
                .body;
            assert_eq!(waiting["data"].as_array().unwrap().is_empty(), attempts.len() == COUNT);
        }
    });
}

#[test]
fn explanations_and_dry_runs_of_large_errors_are_bounded() {
    const ACTIONS: usize = 25;
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let action = |number: usize| {
        json!({
            "actionId": format!("render{number}"), "type": "render", "runner": "gpu", "triggerState": "waiting",
            "retryPolicy": { "maxAttempts": 1 },
        })
    };
    let machine = json!({
        "id": "failing",
        "initial": "waiting",
        "states": { "waiting": {} },
        "actions": (0..ACTIONS).map(action).collect::<Vec<_>>(),
    });
    let mut client = product.client();
    let applied = client.post("/v1/machines", &machine).unwrap();
    assert_eq!(applied.status, 201, "{}", applied.body);
    let started = client.post("/v1/executions", &json!({ "machine": "failing" })).unwrap();
    let path = format!("/v1/executions/{}/explain", started.body["id"].as_str().unwrap());
    let poll = json!({ "types": ["render"], "max": 100, "wait": "5s" });
    let failed = json!({ "error": { "type": "conflict", "details": "x".repeat(LARGE_BYTES) }, "outcome": "notDone" });
    beside(&product, || {
        let mut failures = 0;
        while failures < ACTIONS {
            let leased = client.post("/v1/runners/lease", &poll).unwrap();
            for attempt in leased.body["attempts"].as_array().unwrap() {
                let path = format!("/v1/attempts/{}/fail", attempt["id"].as_str().unwrap());
                let ended = client.post(&path, &failed).unwrap();
                assert_eq!(
                    (ended.status, &ended.body["status"]),
                    (200, &json!("dead")),
                    "{}",
                    ended.body
                );
                failures += 1;
            }
        }
        let explained = client.get(&path).unwrap();
        let shown = explained.body["actions"].as_array().unwrap().len();
        let bytes = explained.body.to_string().len();
        assert!(shown > 5 && bytes <= PAGE_BYTES_MAX, "{shown} actions, {bytes} bytes");
        let asked = json!({ "filter": "machine = \"failing\"", "dryRun": true });
        let dry = client.post("/v1/dead-letters/retry", &asked).unwrap();
        let shown = dry.body["sample"].as_array().map_or(0, Vec::len);
        let bytes = dry.body.to_string().len();
        assert_eq!(dry.body["expected"]["count"], ACTIONS, "{}", dry.body["detail"]);
        assert!(
            shown > 2 && bytes <= PAGE_BYTES_MAX,
            "{shown} dead letters, {bytes} bytes"
        );
    });
}

/// A connection that asks and does not read.
fn asks(product: &Product, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(product.address()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", product.address()).unwrap();
    stream
}

#[test]
fn readers_that_do_not_read_cost_a_bounded_amount_of_memory() {
    const SILENT: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let (product, started) = with_large(&folder.path().join("sprag.db"), 60);
    let before = product.resident_bytes();
    let one = format!("/v1/executions/{}", started[0]);
    beside(&product, || {
        let lists: Vec<TcpStream> = (0..SILENT)
            .map(|_| asks(&product, "/v1/executions?limit=1000"))
            .collect();
        let reads: Vec<TcpStream> = (0..SILENT * 5).map(|_| asks(&product, &one)).collect();
        let mut client = Client::within(product.address(), GUARD);
        for path in [
            "/healthz",
            "/v1/kill-switches",
            "/v1/executions?machine=neighbour&limit=1",
        ] {
            let (status, _) = client.size(path).unwrap();
            // Lists may be refused while others take all the memory there is for them; health and operators may not.
            assert!(
                status == 200 || (path.starts_with("/v1/executions") && status == 503),
                "{path}: {status}"
            );
        }
        drop((lists, reads));
        let (status, bytes) = wait::until("lists to be answered again", GUARD, || {
            client
                .size("/v1/executions?limit=1000")
                .ok()
                .filter(|(status, _)| *status == 200)
        });
        assert!(status == 200 && bytes <= PAGE_BYTES_MAX);
    });
    let peak = product.peak_bytes();
    println!(
        "silent: {} MiB resident before {SILENT} lists and {} reads that nobody reads, {} MiB at most",
        before >> 20,
        SILENT * 5,
        peak >> 20,
    );
    // 100 pages of 15 MB and 500 executions of 250 kB would be 1.6 GB.
    assert!(peak < 700 << 20, "{} MiB", peak >> 20);
}

/// What 200 clients saw.
#[derive(Default)]
struct Seen {
    errors: Mutex<Vec<String>>,
    pages: AtomicUsize,
    page_bytes: AtomicUsize,
    reads: Mutex<Vec<Duration>>,
}

impl Seen {
    fn error(&self, text: String) {
        self.errors.lock().unwrap().push(text);
    }
}

/// Reads full pages, one after the other.
fn read_pages(client: &mut Client, seen: &Seen) {
    match client.size("/v1/executions?machine=large&limit=1000") {
        Ok((200, bytes)) => {
            seen.pages.fetch_add(1, Ordering::Relaxed);
            seen.page_bytes.fetch_max(bytes, Ordering::Relaxed);
        }
        other => seen.error(format!("a page: {other:?}")),
    }
}

/// Reads one execution, and is not in a hurry.
fn read_one(client: &mut Client, id: &str, seen: &Seen, clock: &System) {
    let began = clock.elapsed();
    match client.size(&format!("/v1/executions/{id}")) {
        Ok((200, _)) => seen.reads.lock().unwrap().push(clock.elapsed().saturating_sub(began)),
        other => seen.error(format!("a read: {other:?}")),
    }
    std::thread::park_timeout(Duration::from_millis(50));
}

/// Starts an execution that closes at once.
fn start_one(client: &mut Client, seen: &Seen) {
    match client.post("/v1/executions?wait=20s", &json!({ "machine": "neighbour" })) {
        Ok(answer) if answer.status == 201 => {}
        other => seen.error(format!("a start: {other:?}")),
    }
    std::thread::park_timeout(Duration::from_millis(50));
}

/// 200 clients: some read full pages, some start executions, most read one execution by its id.
fn run_load(product: &Product, ids: &[String], how_long: Duration) -> Seen {
    const CLIENTS: usize = 200;
    const PAGE_READERS: usize = 16;
    const STARTERS: usize = 20;
    let (seen, is_over) = (Seen::default(), AtomicBool::new(false));
    let clock = System::start(Timestamp::from_millis(0));
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (seen, is_over, clock) = (&seen, &is_over, &clock);
            let id = ids[number % ids.len()].as_str();
            scope.spawn(move || {
                let mut client = Client::within(product.address(), GUARD);
                while !is_over.load(Ordering::Relaxed) {
                    match number {
                        0..PAGE_READERS => read_pages(&mut client, seen),
                        PAGE_READERS..36 => start_one(&mut client, seen),
                        _ => read_one(&mut client, id, seen, clock),
                    }
                }
            });
        }
        assert_eq!(PAGE_READERS + STARTERS, 36);
        while clock.elapsed() < how_long {
            std::thread::park_timeout(Duration::from_millis(100));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    seen
}

#[test]
fn load_of_200_clients_beside_readers_of_full_pages() {
    let proves = std::env::var_os("SPRAG_PROVE").is_some();
    let (executions, how_long) = if proves {
        (1_000, Duration::from_mins(2))
    } else {
        (40, Duration::from_secs(3))
    };
    let folder = tempfile::tempdir().unwrap();
    let (product, ids) = with_large(&folder.path().join("sprag.db"), executions);
    // What is read by id is small: the point is that it does not wait behind what is large.
    let small = json!({ "machine": "large", "variables": {} });
    let small: Vec<String> = (0..50)
        .map(|_| {
            product.client().post("/v1/executions", &small).unwrap().body["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let seen = beside(&product, || run_load(&product, &small, how_long));
    let errors = seen.errors.into_inner().unwrap();
    assert!(errors.is_empty(), "{} errors, the first: {}", errors.len(), errors[0]);
    let mut reads = seen.reads.into_inner().unwrap();
    reads.sort_unstable();
    let at = |share: usize| reads[(reads.len() - 1) * share / 1_000];
    let (pages, page_bytes) = (seen.pages.into_inner(), seen.page_bytes.into_inner());
    assert!(
        pages > 0 && page_bytes <= PAGE_BYTES_MAX,
        "{pages} pages of up to {page_bytes} bytes"
    );
    let resident = settled(&product, if proves { 30 } else { 2 });
    println!(
        "load: {} executions of 250 kB, 200 clients, {} s, 0 errors, {} reads by id: p50 {:.1} ms, p99 {:.1} ms, most {:.1} ms",
        ids.len(),
        how_long.as_secs(),
        reads.len(),
        at(500).as_secs_f64() * 1e3,
        at(990).as_secs_f64() * 1e3,
        at(1_000).as_secs_f64() * 1e3,
    );
    println!(
        "load: {pages} full pages of up to {} KiB, {} MiB resident at most, {} MiB at the end",
        page_bytes >> 10,
        product.peak_bytes() >> 20,
        resident >> 20,
    );
    if proves {
        assert!(at(990) < Duration::from_millis(100), "promised: a p99 under 100 ms");
        assert!(resident < 300 << 20, "promised: under 300 MiB at the end");
    }
}

/// How much memory a server holds once that has not shrunk for so many looks. Threads that served a crowd end after ten
/// seconds, and only then return what they hold.
fn settled(product: &Product, looks: usize) -> u64 {
    let mut last = u64::MAX;
    let mut still = 0;
    wait::until("memory to settle", GUARD, || {
        std::thread::park_timeout(Duration::from_millis(500));
        let now = product.resident_bytes();
        still = if now + (1 << 20) < last { 0 } else { still + 1 };
        last = last.min(now);
        (still > looks).then_some(last)
    })
}
