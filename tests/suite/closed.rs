//! Ten million closed executions: nothing that is asked for takes time in proportion to what has ended.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, binary, store, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(1);
/// Closed executions in the ordinary run; `SPRAG_PROVE_CLOSED` asks for more.
const CLOSED: u64 = 5_000;
/// What one takes on disk, rounded up.
const BYTES_EACH: u64 = 1_600;
/// What is left free on the disk.
const FREE_BYTES_MIN: u64 = 10 << 30;
/// How often each question is asked, after once to warm up.
const REPEATS: usize = 20;
const ANSWER_MAX: Duration = Duration::from_millis(50);
const READY_MAX: Duration = Duration::from_secs(5);
/// Old enough for the retention below: the file's executions are of the first hours of 2026.
const CLOSED_DAYS: u64 = 30;

#[test]
fn what_has_ended_does_not_slow_down_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    println!(
        "closed: the file has {} MiB",
        std::fs::metadata(&store).unwrap().len() >> 20
    );

    let product = Product::start(&store, &[]);
    let fresh = add_fresh(&mut product.client());
    product.kill();
    let (product, ready) = Product::start_until_ready(&store, &[]);
    println!(
        "closed: ready {} ms after the start, {} MiB resident",
        ready.as_millis(),
        product.resident_bytes() >> 20
    );
    let mut slow = measure(&mut product.client(), &fresh);
    list_on_the_command_line(&product);
    product.kill();

    slow.extend(retention(folder.path(), &store));
    if std::env::var_os("SPRAG_PROVE").is_some() {
        assert!(ready < READY_MAX, "promised: ready within 5 s, took {ready:?}");
        assert!(slow.is_empty(), "promised: each answer under 50 ms, not {slow:#?}");
    }
}

/// A file to ask about: one that `SPRAG_PROVE_CLOSED_FILE` names, or else a new one.
fn filled(folder: &Path) -> PathBuf {
    if let Some(file) = std::env::var_os("SPRAG_PROVE_CLOSED_FILE") {
        return PathBuf::from(file);
    }
    let store = folder.join("sprag.db");
    let count = room_for(asked(), folder);
    let watch = System::start(Timestamp::from_millis(0));
    let filled = Command::new(binary("sprag-bench"))
        .args(["fill", &count.to_string()])
        .arg(&store)
        .status();
    assert!(filled.unwrap().success());
    println!(
        "closed: {count} closed executions, made in {} s",
        watch.elapsed().as_secs()
    );
    store::adopt(&store);
    store
}

fn asked() -> u64 {
    let asked = std::env::var("SPRAG_PROVE_CLOSED").ok();
    asked.map_or(CLOSED, |text| text.parse().unwrap())
}

/// As many as are asked for, or as the disk has room for. The few of every run take a few megabytes, which there must be.
fn room_for(count: u64, folder: &Path) -> u64 {
    let disk = rustix::fs::statvfs(folder).unwrap();
    let free = disk.f_bavail * disk.f_frsize;
    let room = (free.saturating_sub(FREE_BYTES_MIN) / BYTES_EACH).max(CLOSED);
    if room < count {
        println!(
            "closed: {} GiB are free: {room} executions instead of {count}",
            free >> 30
        );
    }
    count.min(room)
}

/// Adds an execution with a key and a tag of its own through the API; gives its id once it is closed.
fn add_fresh(client: &mut Client) -> String {
    let start = json!({ "machine": "marked", "key": "fresh", "tags": ["fresh"] });
    let answer = client.post("/v1/executions?wait=30s", &start).unwrap();
    assert_eq!(answer.body["status"], "completed", "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

/// Asks everything; prints what each took and gives what was too slow.
fn measure(client: &mut Client, fresh: &str) -> Vec<String> {
    let mut slow = Vec::new();
    for question in questions(client, fresh) {
        let Asked { worst, line } = ask(client, &question);
        println!("closed: {line}");
        if worst >= ANSWER_MAX {
            slow.push(line);
        }
    }
    slow
}

/// Something to ask, and how many rows the answer has to have.
struct Question {
    path: String,
    rows: Rows,
}

/// What an answer has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// A list with at least one.
    Some,
    /// A list without any; it may be a short page.
    None,
    /// A thing of its own.
    One,
}

struct Asked {
    worst: Duration,
    line: String,
}

fn ask(client: &mut Client, question: &Question) -> Asked {
    let Question { path, rows } = question;
    let watch = System::start(Timestamp::from_millis(0));
    let mut took = Vec::new();
    let mut found = 0;
    for _ in 0..=REPEATS {
        let before = watch.elapsed();
        let answer = client.get(path).unwrap();
        took.push(watch.elapsed().saturating_sub(before));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        found = answer.body["data"].as_array().map_or(0, Vec::len);
        assert_eq!(found > 0, *rows == Rows::Some, "{path}: {:?}", answer.body);
    }
    let first = took.remove(0);
    took.sort_unstable();
    let (median, worst) = (took[REPEATS / 2], took[REPEATS - 1]);
    let millis = |took: Duration| took.as_secs_f64() * 1_000.0;
    Asked {
        worst,
        line: format!(
            "{:7.2} ms worst, {:6.2} ms median, {:7.2} ms first, {found:3} rows: {path}",
            millis(worst),
            millis(median),
            millis(first)
        ),
    }
}

fn questions(client: &mut Client, fresh: &str) -> Vec<Question> {
    let oldest = only(client, "/v1/executions?key=order-0");
    let mut questions = Vec::new();
    let mut add = |rows: Rows, path: String| questions.push(Question { path, rows });
    for (rows, filter) in EXECUTIONS {
        add(rows, list("executions", filter));
    }
    for (rows, filter) in ACTIONS {
        add(rows, list("actions", filter));
    }
    for (rows, filter) in DEAD_LETTERS {
        add(rows, list("dead-letters", filter));
    }
    for name in ["executions", "executions?machine=one", "actions", "dead-letters"] {
        add(Rows::Some, second_page(client, &format!("/v1/{name}")));
    }
    for id in [fresh, &oldest] {
        add(Rows::One, format!("/v1/executions/{id}"));
        add(Rows::Some, format!("/v1/executions/{id}/history"));
        add(Rows::One, format!("/v1/executions/{id}/explain"));
        add(Rows::Some, format!("/v1/actions?executionId={id}"));
        let action = only(client, &format!("/v1/actions?executionId={id}"));
        add(Rows::One, format!("/v1/actions/{action}"));
    }
    add(Rows::One, "/v1/actions/queue".to_owned());
    add(Rows::One, "/metrics".to_owned());
    add(Rows::One, "/v1/system".to_owned());
    questions
}

/// Filters with many matches, few and none; also on fields without an index, where a page looks at so many rows only.
const EXECUTIONS: [(Rows, &str); 26] = [
    (Rows::Some, ""),
    (Rows::Some, "machine = \"one\""),
    (Rows::Some, "machine = \"endless\""),
    (Rows::None, "machine = \"nobody\""),
    (Rows::Some, "status = \"completed\""),
    (Rows::Some, "status = \"cancelled\""),
    (Rows::None, "status = \"running\""),
    (Rows::None, "status IN (\"paused\", \"failed\")"),
    (Rows::Some, "status IN (\"completed\", \"cancelled\")"),
    (Rows::Some, "key = \"daily\""),
    (Rows::Some, "key = \"order-0\""),
    (Rows::None, "key = \"nobody\""),
    (Rows::Some, "tag = \"marked\""),
    (Rows::Some, "tag = \"batch-0\""),
    (Rows::None, "tag = \"nobody\""),
    (Rows::Some, "createdAt >= \"2026-01-01\""),
    (Rows::Some, "createdAt < \"2026-01-01T00:00:01Z\""),
    (
        Rows::Some,
        "createdAt >= \"2026-01-01T00:00:01Z\" AND createdAt < \"2026-01-01T00:00:02Z\"",
    ),
    (Rows::None, "createdAt < \"2025-12-31\""),
    (Rows::Some, "machine = \"marked\" AND tag = \"batch-1\""),
    (Rows::None, "machine = \"one\" AND status = \"cancelled\""),
    (Rows::None, "machine = \"one\" AND version = 7"),
    (Rows::None, "machine = \"marked\" AND version = 7"),
    (Rows::None, "key = \"daily\" AND version = 7"),
    (Rows::None, "tag = \"marked\" AND version = 7"),
    (Rows::None, "version = 7"),
];

const ACTIONS: [(Rows, &str); 22] = [
    (Rows::Some, ""),
    (Rows::Some, "actionId = \"work\""),
    (Rows::Some, "actionId = \"give_up\""),
    (Rows::None, "actionId = \"nobody\""),
    (Rows::None, "executionId = \"exe_00000000000000000000000000\""),
    (Rows::Some, "status = \"succeeded\""),
    (Rows::Some, "status = \"dead\""),
    (Rows::None, "status = \"cancelled\""),
    (Rows::None, "status = \"skipped\""),
    (Rows::None, "status = \"running\""),
    (Rows::None, "status IN (\"queued\", \"retrying\", \"scheduled\")"),
    (Rows::Some, "errorType = \"temporary_failure\""),
    (Rows::None, "errorType = \"timeout\""),
    (Rows::None, "errorType = \"temporary_failure\" AND type = \"webhook\""),
    (Rows::None, "tag = \"marked\" AND type = \"webhook\""),
    (Rows::Some, "tag = \"marked\""),
    (Rows::Some, "tag = \"batch-0\""),
    (Rows::None, "tag = \"nobody\""),
    (Rows::Some, "machine = \"one\""),
    (Rows::None, "machine = \"nobody\""),
    (Rows::None, "type = \"webhook\""),
    (Rows::Some, "createdAt < \"2026-01-01T00:00:01Z\""),
];

const DEAD_LETTERS: [(Rows, &str); 5] = [
    (Rows::Some, ""),
    (Rows::Some, "machine = \"marked\""),
    (Rows::None, "machine = \"one\""),
    (Rows::Some, "actionId = \"give_up\""),
    (Rows::None, "actionId = \"work\""),
];

fn list(name: &str, filter: &str) -> String {
    match filter {
        "" => format!("/v1/{name}"),
        filter => format!("/v1/{name}?filter={}", encoded(filter)),
    }
}

/// A filter as part of an address.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            b' ' => "+".to_owned(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// The id of the only one in a list.
fn only(client: &mut Client, path: &str) -> String {
    let answer = client.get(path).unwrap();
    let data = answer.body["data"].as_array().unwrap();
    assert_eq!(data.len(), 1, "{path}: {data:?}");
    data[0]["id"].as_str().unwrap().to_owned()
}

/// Where the second page of a list is.
fn second_page(client: &mut Client, path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    let first = format!("{path}{sign}limit=20");
    let answer = client.get(&first).unwrap();
    let cursor = answer.body["nextCursor"].as_str().unwrap();
    format!("{first}&cursor={cursor}")
}

fn list_on_the_command_line(product: &Product) {
    let watch = System::start(Timestamp::from_millis(0));
    let listed = Command::new(binary("sprag"))
        .args(["exec", "list", "--output", "json", "--server"])
        .arg(format!("http://{}", product.address()))
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(!listed["data"].as_array().unwrap().is_empty());
    println!("closed: {} ms for `sprag exec list`", watch.elapsed().as_millis());
}

/// Old executions go a few at a time, and whoever asks meanwhile does not notice. What was too slow is given.
fn retention(folder: &Path, store: &Path) -> Option<String> {
    let config = folder.join("sprag.toml");
    std::fs::write(&config, format!("[retention]\nclosedDays = {CLOSED_DAYS}\n")).unwrap();
    let config = config.display().to_string();
    let watch = System::start(Timestamp::from_millis(0));
    let (product, _) = Product::start_until_ready(store, &[("SPRAG_CONFIG", &config)]);
    let mut client = product.client();
    let first = list("executions", "machine = \"one\"");
    let slow = measure_during(&mut client, &first);
    let old = list(
        "executions",
        "machine = \"one\" AND createdAt < \"2026-01-01T00:00:02Z\"",
    );
    wait::until("the oldest executions to go", GUARD, || {
        let answer = client.get(&old).unwrap();
        answer.body["data"].as_array().unwrap().is_empty().then_some(())
    });
    println!(
        "closed: the oldest 2,000 are gone {:.1} s after a start with retention",
        watch.elapsed().as_secs_f64()
    );
    slow
}

fn measure_during(client: &mut Client, path: &str) -> Option<String> {
    let question = Question {
        path: path.to_owned(),
        rows: Rows::Some,
    };
    let Asked { worst, line } = ask(client, &question);
    println!("closed: while old ones go: {line}");
    (worst >= ANSWER_MAX).then_some(line)
}
