//! Kill -9 in the middle of a bulk job: it continues where it was, and every dead letter is retried once.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
/// Several steps of a job.
const LETTERS: usize = 200;
/// More commits than the job needs: the enumeration ends where the failpoint is not reached any more.
const COMMITS_MAX: usize = 60;

/// Its one action fails at once, for good, and again whenever it is retried.
pub(crate) fn machine() -> Value {
    json!({
        "id": "doomed",
        "initial": "trying",
        "states": { "trying": {} },
        "actions": [{
            "actionId": "act",
            "type": "fail",
            "triggerState": "trying",
            "config": { "type": "not_found", "message": "nobody there" },
            "retryPolicy": { "maxAttempts": 1 },
        }],
    })
}

fn ids(answer: &Value, name: &str) -> Vec<String> {
    let rows = answer["data"].as_array().expect("a list");
    rows.iter()
        .map(|row| row[name].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// A database with dead letters and nothing under way.
fn doom(store: &Path) {
    let product = Product::start(store, &[]);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 0..LETTERS {
        let answer = client.post("/v1/executions", &json!({"machine": "doomed"})).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    wait::until("all actions to be dead", GUARD, || {
        let answer = client.get("/v1/dead-letters?limit=1000").unwrap();
        (ids(&answer.body, "id").len() == LETTERS).then_some(())
    });
    product.terminate(GUARD);
}

/// The job: the one that was made before the server died, or a new one.
fn made(client: &mut Client) -> std::io::Result<String> {
    if let Some(known) = ids(&client.get("/v1/jobs")?.body, "id").pop() {
        return Ok(known);
    }
    let body = json!({"filter": "errorType = \"not_found\"", "reason": "a crash test"});
    let answer = client.post("/v1/dead-letters/retry", &body)?;
    assert_eq!(answer.status, 202, "{answer:?}");
    Ok(answer.body["id"].as_str().unwrap_or_default().to_owned())
}

/// Makes the job, once, and waits until it is over. An error means that the server died.
fn drive(client: &mut Client, job: &mut Option<String>) -> std::io::Result<()> {
    if job.is_none() {
        *job = Some(made(client)?);
    }
    let known = job.clone().unwrap_or_default();
    loop {
        let answer = client.get(&format!("/v1/jobs/{known}"))?;
        assert_eq!(answer.status, 200, "an acknowledged job is lost: {answer:?}");
        if answer.body["status"] == "completed" {
            return Ok(());
        }
        std::thread::yield_now();
    }
}

/// Each letter has one item, and one attempt more than before: that of the retry.
fn verify(client: &mut Client, job: &str, failpoint: &str) {
    let items = client.get(&format!("/v1/jobs/{job}/items?limit=1000")).unwrap().body;
    let met = ids(&items, "action");
    let distinct: BTreeSet<&String> = met.iter().collect();
    assert_eq!((met.len(), distinct.len()), (LETTERS, LETTERS), "{failpoint}");
    assert!(
        ids(&items, "result").iter().all(|result| result == "retried"),
        "{failpoint}"
    );
    wait::until("the retried actions to be dead again", GUARD, || {
        let actions = client.get("/v1/actions?limit=1000").unwrap().body;
        let rows = actions["data"].as_array().unwrap().clone();
        let attempts = |row: &Value| row["attempts"].as_array().map_or(0, Vec::len);
        assert!(rows.iter().all(|row| attempts(row) <= 2), "{failpoint}: retried twice");
        let is_over = |row: &Value| row["status"] == "dead" && attempts(row) == 2;
        rows.iter().all(is_over).then_some(())
    });
}

#[test]
fn a_job_that_is_killed_at_any_commit_ends_with_every_item_once() {
    let folder = tempfile::tempdir().unwrap();
    let doomed = folder.path().join("doomed.db");
    doom(&doomed);
    for side in ["before", "after"] {
        let mut reached = 0;
        for number in 1..=COMMITS_MAX {
            let failpoint = format!("{side}-commit:{number}");
            let copy = folder.path().join(format!("{side}-{number}.db"));
            store::copy(&doomed, &copy);
            let mut job = None;
            let outcome = match Product::try_start(&copy, &[("SPRAG_FAILPOINT", &failpoint)]) {
                Ok(product) => drive(&mut product.client(), &mut job),
                Err(_) => Err(std::io::ErrorKind::ConnectionRefused.into()),
            };
            let product = Product::start(&copy, &[]);
            let mut client = product.client();
            drive(&mut client, &mut job).unwrap();
            verify(&mut client, job.as_deref().unwrap_or_default(), &failpoint);
            if outcome.is_ok() {
                break;
            }
            reached = number;
        }
        println!("{side}-commit: {reached} crashes, each survived");
        assert!(reached >= LETTERS / 64, "{side}: the job was never hit in the middle");
    }
}
