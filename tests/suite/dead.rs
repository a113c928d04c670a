//! Very many dead letters: the first page comes at once, and a bulk retry keeps its pace and its place through kill -9.
//!
//! `make test` does it with few; `tests/prove.sh dead` with a hundred thousand, and holds the figures to their promises.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(15);
/// Actions of one execution: all of them die.
const EACH: usize = 50;
/// What the first page is promised to take.
const PAGE_PROMISE: Duration = Duration::from_millis(50);
/// What it may take on a machine that is busy with something else.
const PAGE_GUARD: Duration = Duration::from_secs(5);
/// How often the server is killed while the job runs.
const KILLS: usize = 3;

/// How much of it.
struct Size {
    letters: usize,
    rate: u64,
    /// Whether the figures are held to their promises.
    proves: bool,
}

impl Size {
    fn of_environment() -> Self {
        let letters = std::env::var("SPRAG_PROVE_LETTERS")
            .ok()
            .and_then(|text| text.parse().ok());
        match letters {
            Some(letters) => Self {
                letters,
                rate: 2_500,
                proves: true,
            },
            None => Self {
                letters: 1_000,
                rate: 400,
                proves: false,
            },
        }
    }
}

fn stopwatch() -> System {
    System::start(Timestamp::from_millis(0))
}

/// A machine all of whose actions fail at once, for good, whenever they are tried.
fn machine() -> Value {
    let action = |number: usize| {
        json!({
            "actionId": format!("act{number}"),
            "type": "fail",
            "triggerState": "trying",
            "config": { "type": "not_found", "message": format!("nobody at {number}") },
            "retryPolicy": { "maxAttempts": 1 },
        })
    };
    let actions: Vec<Value> = (0..EACH).map(action).collect();
    json!({ "id": "doomed", "initial": "trying", "states": { "trying": {} }, "actions": actions })
}

fn counted(client: &mut Client) -> u64 {
    let body = json!({"filter": "machine = \"doomed\"", "dryRun": true});
    let answer = client.post("/v1/dead-letters/retry", &body).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["expected"]["count"].as_u64().unwrap()
}

/// Fills a database with dead letters; how long that took.
fn doom(product: &Product, letters: usize) -> Duration {
    let watch = stopwatch();
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 0..letters / EACH {
        let answer = client.post("/v1/executions", &json!({"machine": "doomed"})).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    wait::until("all actions to be dead", GUARD, || {
        (counted(&mut client) == u64::try_from(letters).unwrap()).then_some(())
    });
    watch.elapsed()
}

/// The longest of several times that a page took.
fn slowest(client: &mut Client, path: &str, rows: usize) -> Duration {
    let took = (0..10).map(|_| {
        let watch = stopwatch();
        let answer = client.get(path).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        if rows > 0 {
            assert_eq!(answer.body["data"].as_array().map(Vec::len), Some(rows), "{path}");
        }
        watch.elapsed()
    });
    took.max().unwrap()
}

fn look(product: &Product, size: &Size) {
    let mut client = product.client();
    let first = client.get("/v1/dead-letters?limit=100").unwrap().body;
    let one = first["data"][0]["id"].as_str().unwrap().to_owned();
    let print = first["data"][0]["fingerprint"].as_str().unwrap().to_owned();
    let questions = [
        ("first page", "/v1/dead-letters?limit=100".to_owned(), 100),
        (
            "of a machine",
            "/v1/dead-letters?limit=100&machine=doomed".to_owned(),
            100,
        ),
        (
            "of an error",
            "/v1/dead-letters?limit=100&error=not_found".to_owned(),
            100,
        ),
        (
            "of a fingerprint",
            format!("/v1/dead-letters?limit=10&fingerprint={print}"),
            10,
        ),
        ("case file", format!("/v1/dead-letters/{one}"), 0),
    ];
    let promise = if size.proves { PAGE_PROMISE } else { PAGE_GUARD };
    for (what, path, rows) in questions {
        let took = slowest(&mut client, &path, rows);
        println!("dead: {what} among {} took {took:.1?} at most", size.letters);
        assert!(took < promise, "{what} took {took:?}");
    }
}

fn job(client: &mut Client, id: &str) -> Value {
    let answer = client.get(&format!("/v1/jobs/{id}")).unwrap();
    assert_eq!(answer.status, 200, "an acknowledged job is lost: {answer:?}");
    answer.body
}

fn matched(job: &Value) -> u64 {
    job["counts"]["matched"].as_u64().unwrap()
}

/// One life of the server, until the job has met so many, or is over: how fast it went, in letters a second.
fn live(product: &Product, id: &str, until: u64) -> (u64, f64) {
    let mut client = product.client();
    let began = matched(&job(&mut client, id));
    let watch = stopwatch();
    let at = wait::until("the job to get on", GUARD, || {
        let job = job(&mut client, id);
        let is_there = matched(&job) >= until || job["status"] == "completed";
        is_there.then(|| matched(&job))
    });
    let done = u32::try_from(at - began).unwrap();
    (at, f64::from(done) / watch.elapsed().as_secs_f64())
}

/// Runs the job through several kills; the paces of its lives.
fn drive(store: &Path, mut product: Product, size: &Size) -> (Product, String, Vec<f64>) {
    let body = json!({"filter": "machine = \"doomed\"", "rate": size.rate, "reason": "a crash test"});
    let answer = product.client().post("/v1/dead-letters/retry", &body).unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.body["id"].as_str().unwrap().to_owned();
    let all = u64::try_from(size.letters).unwrap();
    let mut paces = Vec::new();
    for kill in 1..=KILLS {
        let share = all * u64::try_from(kill).unwrap() / u64::try_from(KILLS + 1).unwrap();
        let (at, pace) = live(&product, &id, share);
        assert!(at < all, "the job was over before it was killed");
        paces.push(pace);
        product.kill();
        product = Product::start(store, &[]);
    }
    paces.push(live(&product, &id, u64::MAX).1);
    (product, id, paces)
}

/// Every letter has one item, and one attempt more than before.
fn verify(product: &Product, id: &str, letters: usize) {
    let mut client = product.client();
    assert_eq!(job(&mut client, id)["counts"]["done"], letters);
    let mut met = BTreeSet::new();
    let mut count = 0;
    pages(&mut client, &format!("/v1/jobs/{id}/items"), |item| {
        assert_eq!(item["result"], "retried", "{item}");
        met.insert(item["action"].as_str().unwrap().to_owned());
        count += 1;
    });
    assert_eq!((count, met.len()), (letters, letters), "each once");
    wait::until("the retried actions to be dead again", GUARD, || {
        (counted(&mut client) == u64::try_from(letters).unwrap()).then_some(())
    });
    pages(&mut client, "/v1/actions", |action| {
        assert_eq!(action["attempts"].as_array().map(Vec::len), Some(2), "{action}");
    });
}

fn pages(client: &mut Client, path: &str, mut each: impl FnMut(&Value)) {
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("{path}?limit=1000{cursor}")).unwrap().body;
        page["data"].as_array().unwrap().iter().for_each(&mut each);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return,
        }
    }
}

#[test]
fn many_dead_letters_are_listed_at_once_and_retried_at_their_pace_through_kills() {
    let size = Size::of_environment();
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("dead.db");
    let product = Product::start(&store, &[]);
    let took = doom(&product, size.letters);
    println!("dead: {} letters died in {took:.1?}", size.letters);
    look(&product, &size);
    let (product, id, paces) = drive(&store, product, &size);
    for pace in &paces {
        println!("dead: {pace:.0} letters a second, {} were asked for", size.rate);
        let rate = f64::from(u32::try_from(size.rate).unwrap());
        // What is caught up after a restart shows in a short life, and the more so on a busy machine.
        let most = if size.proves { rate * 1.5 } else { rate * 4.0 };
        assert!(*pace <= most, "faster than its pace: {paces:?}");
        assert!(
            !size.proves || *pace >= rate * 0.7,
            "much slower than its pace: {paces:?}"
        );
    }
    verify(&product, &id, size.letters);
    println!("dead: {KILLS} kills, {} letters retried, each once", size.letters);
}
