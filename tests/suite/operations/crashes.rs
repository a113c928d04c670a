//! The crash between every pair of store calls of a workflow's life: enumerated, not sampled.

use std::path::Path;

use serde_json::{Value, json};

use super::{Office, steps};

/// More calls than the scenario makes: the enumeration ends where the failpoint is not reached any more.
const CALLS_MAX: usize = 60;
/// The calls it makes, with the least number of each that it cannot do without.
const CALLS: [(&str, usize); 2] = [("commit", 5), ("load", 1)];
/// The workflow of every run, and what each of its steps calls.
const STEPS: [(&str, &str, &str); 2] = [("first", "cache.drain", "first"), ("second", "cache.look", "second")];

#[test]
fn a_crash_at_any_call_of_a_workflows_life_runs_nothing_unapproved_and_nothing_again_after_success() {
    let mut office = Office::open("");
    office.stop();
    let prepared = office.store.clone();
    for (call, least) in CALLS {
        for side in ["before", "after"] {
            let mut reached = 0;
            for number in 1..=CALLS_MAX {
                if !crash_at(&mut office, &prepared, &format!("{side}-{call}:{number}")) {
                    break;
                }
                reached = number;
            }
            assert!(reached >= least, "{side}-{call}: only {reached} calls were reached");
            assert!(
                reached < CALLS_MAX,
                "{side}-{call}: the scenario is longer than the enumeration"
            );
            println!("{side}-{call}: {reached} crashes, each survived");
        }
    }
}

/// Runs the scenario with a failpoint, restarts after the crash, and checks the end. Says whether it crashed.
fn crash_at(office: &mut Office, prepared: &Path, failpoint: &str) -> bool {
    office.copy(prepared, &format!("{}.db", failpoint.replace(':', "-")));
    let seen = office.visited().len();
    let crashed = match office.start(&[("SPRAG_FAILPOINT", failpoint)]) {
        Err(_) => true,
        Ok(()) => drive(office, seen).is_err(),
    };
    if crashed {
        office.died();
        office.start(&[]).unwrap();
        drive(office, seen).unwrap_or_else(|error| panic!("{failpoint}: {error}"));
    }
    check(office, &office.visited()[seen..], failpoint);
    crashed
}

/// Proposes, approves, and waits for the end; continues from whatever is stored. An error means that the server died.
fn drive(office: &Office, seen: usize) -> std::io::Result<()> {
    let mut ann = office.client("ann");
    let known = ann.get("/v1/workflows")?.body["data"][0].clone();
    let workflow = if known.is_null() {
        let proposed = ann.post("/v1/workflows", &steps("life", &STEPS))?;
        assert_eq!(proposed.status, 201, "{proposed:?}");
        proposed.body
    } else {
        known
    };
    let path = format!("/v1/workflows/{}", workflow["id"].as_str().unwrap_or_default());
    if workflow["status"] == "awaiting_approval" {
        assert_eq!(office.visited().len(), seen, "nobody approved it");
        let body = json!({ "digest": workflow["digest"] });
        let answer = office.client("bob").post(&format!("{path}/approve"), &body)?;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    loop {
        let now = ann.get(&path)?;
        assert_eq!(now.status, 200, "acknowledged, and lost: {now:?}");
        match now.body["status"].as_str() {
            Some("completed") => return Ok(()),
            Some("in_progress") => std::thread::yield_now(),
            _ => panic!("{now:?}"),
        }
    }
}

/// Every visit belongs to an attempt, and no step runs once a later one did.
fn check(office: &Office, visited: &[String], failpoint: &str) {
    let listed = office.get("/v1/workflows");
    let workflow = listed["data"][0].clone();
    assert_eq!(
        listed["data"].as_array().map(Vec::len),
        Some(1),
        "{failpoint}: {listed:#}"
    );
    let first_of_second = visited.iter().position(|path| path == "second").unwrap();
    assert!(
        !visited[first_of_second..].contains(&"first".to_owned()),
        "{failpoint}: {visited:?}"
    );
    for step in workflow["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        let visits = visited.iter().filter(|path| *path == name).count();
        let action = step["actionId"].as_str().unwrap();
        let action = office.get(&format!("/v1/actions/{action}"));
        let attempts = action["attempts"].as_array().unwrap();
        let done = |attempt: &&Value| attempt["outcome"] == "done";
        assert!(
            visits >= 1 && visits <= attempts.len(),
            "{failpoint}: {visits} visits of {action:#}"
        );
        assert_eq!(attempts.iter().filter(done).count(), 1, "{failpoint}: {action:#}");
        assert!(
            attempts.last().is_some_and(|last| done(&last)),
            "{failpoint}: {action:#}"
        );
    }
}
