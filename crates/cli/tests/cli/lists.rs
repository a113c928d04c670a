//! Lists: filters, pages, and what they look like.

use crate::harness::{Place, Server, eventually};

const DOOR: &str = "id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut, BURN: ash } }\n  \
     ash: { type: final }\n";

#[test]
fn a_list_is_a_table_on_stdout_and_its_cursor_is_on_stderr() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    for key in ["a", "b", "c"] {
        server.run(&["exec", "start", "door", "--key", key]).ok();
    }
    let listed = server.run(&["exec", "list", "--limit", "2"]).ok();
    assert_eq!(listed.stdout.lines().count(), 3, "{listed:?}");
    assert!(listed.stdout.starts_with("ID "), "{listed:?}");
    let cursor = listed
        .stderr
        .trim()
        .strip_prefix("there is more: --cursor ")
        .unwrap()
        .to_owned();
    let rest = server.run(&["exec", "list", "--limit", "2", "--cursor", &cursor]).ok();
    assert_eq!((rest.stdout.lines().count(), rest.stderr.as_str()), (2, ""), "{rest:?}");
}

#[test]
fn lists_are_filtered_by_their_flags() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    for key in ["a", "b"] {
        server.run(&["exec", "start", "door", "--key", key]).ok();
    }
    server
        .run(&["exec", "send", "--machine", "door", "--key", "a", "OPEN"])
        .ok();
    server
        .run(&["exec", "send", "--machine", "door", "--key", "a", "BURN"])
        .ok();
    let keys = |arguments: &[&str]| -> Vec<String> {
        let listed = server.json(&[&["exec", "list"], arguments].concat());
        listed["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&[]), ["b", "a"]);
    assert_eq!(keys(&["--status", "completed"]), ["a"]);
    assert_eq!(keys(&["--machine", "door", "--key", "b"]), ["b"]);
    assert_eq!(keys(&["--state", "shut"]), ["b"]);
    assert_eq!(keys(&["--filter", "state != \"shut\""]), ["a"]);
    assert_eq!(keys(&["--filter", "NOT state IN (\"open\", \"ash\")"]), ["b"]);
    assert!(keys(&["--state", "open"]).is_empty());
    for list in [&["exec", "list"][..], &["action", "list"], &["dlq", "list"]] {
        server
            .run(&[list, &["--machine", "dor"]].concat())
            .fails(1, "there is no machine `dor`; did you mean `door`?");
    }
    server
        .run(&["exec", "list", "--status", "sleeping"])
        .fails(2, "error[query-invalid]");
    let empty = server.run(&["action", "list"]).ok();
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", "nothing found\n"));
}

const DOOMED: &str = "id: doomed\ninitial: trying\nstates: { trying: {} }\nactions:\n  - { actionId: act, type: fail, \
     triggerState: trying, config: { type: not_found, message: gone }, retryPolicy: { maxAttempts: 1 } }\n";

#[test]
fn every_list_takes_a_filter_and_says_what_is_wrong_with_one() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    for key in ["a", "b"] {
        server.run(&["exec", "start", "door", "--key", key]).ok();
    }
    let listed = server.json(&["exec", "list", "--filter", "key > \"a\" AND status = \"running\""]);
    assert_eq!(listed["data"][0]["key"], "b");
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    for list in ["exec", "action", "dlq", "job"] {
        server
            .run(&[list, "list", "--filter", "createdAt > \"2020-01-01\""])
            .ok();
        server
            .run(&[list, "list", "--filter", "createdat > \"2020-01-01\""])
            .fails(2, "did you mean `createdAt`?");
    }
}

fn await_letters(server: &Server<'_>, count: usize) {
    eventually("the dead letters", || {
        let listed = server.json(&["dlq", "list"]);
        (listed["data"].as_array().unwrap().len() == count).then_some(())
    });
}

#[test]
fn retry_all_waits_for_its_job_with_plain_lines_off_a_terminal() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOMED);
    for _ in 0..3 {
        server.run(&["exec", "start", "doomed"]).ok();
    }
    await_letters(&server, 3);
    let filter = "errorType = \"not_found\"";
    let waited = server.run(&["dlq", "retry-all", "--filter", filter, "--wait"]).ok();
    assert!(
        waited.stdout.contains("3 matched: 3 retried, 0 skipped, 0 failed"),
        "{waited:?}"
    );
    assert!(
        !waited.stderr.contains('\u{1b}') && !waited.stderr.contains('\r'),
        "{waited:?}"
    );
    let jobs = server.json(&["job", "list", "--status", "completed"]);
    let id = jobs["data"][0]["id"].as_str().unwrap();
    assert_eq!(server.json(&["job", "show", id])["counts"]["done"], 3);
    let items = server.json(&["job", "show", id, "--items"]);
    assert_eq!(items["data"][2]["result"], "retried");
    server.run(&["job", "pause", id]).fails(1, "status-conflict");
    let wrong = [
        "dlq",
        "retry-all",
        "--filter",
        "machine = \"doomed\"",
        "--version",
        "9",
        "--wait",
    ];
    await_letters(&server, 3);
    server.run(&wrong).fails(1, "");
}

#[test]
fn an_execution_is_named_by_machine_and_key_wherever_an_id_is() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    let started = server.json(&["exec", "start", "door", "--key", "a/b", "--var", "colour=dark red"]);
    assert_eq!(started["variables"]["colour"], "dark red");
    let id = started["id"].as_str().unwrap();
    for command in [
        &["exec", "show", "door/a/b"][..],
        &["exec", "pause", "door/a/b"],
        &["exec", "resume", "door/a/b"],
        &["exec", "explain", "door/a/b"],
        &["explain", "door/a/b"],
        &["exec", "history", "door/a/b"],
        &["exec", "replay", "door/a/b"],
        &["exec", "send", "door/a/b", "OPEN"],
        &["exec", "cancel", "door/a/b"],
    ] {
        server.run(command).ok();
    }
    // Nobody holds the key any more: the newest that held it is meant.
    assert_eq!(server.json(&["exec", "show", "door/a/b"])["id"], id);
    assert_eq!(server.run(&["exec", "watch", "door/a/b"]).code, Some(4));
    server
        .run(&["exec", "show", "door/c"])
        .fails(1, "machine `door` has no execution with key `c`");
    server.run(&["exec", "show", "dor/c"]).fails(1, "did you mean `door`?");
}
