//! Idempotency keys across crashes: the answer is kept with what it answers, or neither is.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Answer, Client, Product};

const GUARD: Duration = Duration::from_mins(1);
/// More commits than the scenario makes.
const COMMITS_MAX: usize = 40;
/// Commits that the scenario cannot do without: the life, the machine, the start, the message.
const COMMITS_LEAST: usize = 4;

fn machine() -> Value {
    json!({
        "id": "counter",
        "initial": "counting",
        "variables": { "taken": 0 },
        "states": {
            "counting": { "on": { "TAKE": { "assign": { "taken": "{{variables.taken + 1}}" } } } },
        },
    })
}

/// The answers that reached the client.
#[derive(Default)]
struct Known {
    start: Option<Answer>,
    message: Option<Answer>,
}

#[test]
fn a_crash_before_or_after_any_commit_neither_loses_nor_repeats_what_a_key_did() {
    for side in ["before", "after"] {
        let mut reached = 0;
        for number in 1..=COMMITS_MAX {
            let folder = tempfile::tempdir().unwrap();
            if !crash_at(folder.path(), &format!("{side}-commit:{number}")) {
                break;
            }
            reached = number;
        }
        assert!(
            (COMMITS_LEAST..COMMITS_MAX).contains(&reached),
            "{side}-commit: {reached} commits were reached"
        );
        println!("{side}-commit: {reached} crashes, each survived");
    }
}

/// Runs the scenario with a failpoint, repeats it after the crash and after a kill. Says whether it crashed.
fn crash_at(folder: &Path, failpoint: &str) -> bool {
    let store = folder.join("sprag.db");
    let mut known = Known::default();
    let crashed = match Product::try_start(&store, &[("SPRAG_FAILPOINT", failpoint)]) {
        Err(_) => true,
        Ok(product) => {
            let crashed = drive(&mut product.client(), &mut known).is_err();
            if crashed {
                product.ended(GUARD);
            }
            crashed
        }
    };
    for _ in 0..2 {
        let product = Product::start(&store, &[]);
        let mut client = product.client();
        drive(&mut client, &mut known).unwrap_or_else(|error| panic!("{failpoint}: {error}"));
        check(&mut client, failpoint);
        product.kill();
    }
    crashed
}

/// The whole scenario, every request under the key it always has.
fn drive(client: &mut Client, known: &mut Known) -> std::io::Result<()> {
    let applied = client.post_once("/v1/machines", &machine(), "apply")?;
    assert_eq!(applied.status, 201, "{applied:?}");
    let start = client.post_once("/v1/executions", &json!({ "machine": "counter" }), "start")?;
    assert_eq!(start.status, 201, "{start:?}");
    let id = start.body["id"].as_str().unwrap().to_owned();
    same(&mut known.start, start);
    let path = format!("/v1/executions/{id}/messages");
    let message = client.post_once(&path, &json!({ "type": "TAKE" }), "take")?;
    assert_eq!(message.status, 200, "{message:?}");
    same(&mut known.message, message);
    Ok(())
}

/// Whoever got an answer once gets the same again, and is told that it is the same.
fn same(known: &mut Option<Answer>, answer: Answer) {
    if let Some(first) = known {
        assert!(answer.replayed, "{answer:?}");
        assert_eq!(answer.body, first.body);
    } else {
        *known = Some(answer);
    }
}

fn check(client: &mut Client, failpoint: &str) {
    let list = client.get("/v1/executions").unwrap();
    let executions = list.body["data"].as_array().unwrap();
    assert_eq!(executions.len(), 1, "{failpoint}: {executions:#?}");
    assert_eq!(executions[0]["variables"]["taken"], 1, "{failpoint}");
}
