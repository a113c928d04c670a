//! `--idempotency-key`, and the check of a migration, as a user types them.

use crate::harness::Place;

const COUNTER: &str = "\
id: counter
variables: { taken: 0 }
initial: counting
states:
  counting: { on: { TAKE: { assign: { taken: \"{{variables.taken + 1}}\" } } }, after: { 1h: over } }
  over: { type: final }
";

#[test]
fn a_command_under_a_key_acts_once_and_says_so() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(COUNTER);
    let start = ["exec", "start", "counter", "--idempotency-key", "k"];
    let first = server.json(&start);
    let again = server.run(&[&start[..], &["--output", "json"]].concat()).ok();
    assert_eq!(again.json(), first);
    assert!(again.stderr.contains("nothing was done now"), "{again:?}");
    let id = first["id"].as_str().unwrap();
    for _ in 0..3 {
        server.run(&["exec", "send", id, "TAKE", "--idempotency-key", "t"]).ok();
    }
    assert_eq!(server.json(&["exec", "show", id])["variables"]["taken"], 1);
    let reused = server.run(&["exec", "start", "counter", "--var", "x=1", "--idempotency-key", "k"]);
    assert_eq!(reused.code, Some(2), "{reused:?}");
    assert!(reused.stderr.contains("idempotency-key-reused"), "{reused:?}");
    let invalid = server.run(&["exec", "start", "counter", "--idempotency-key", "a b"]);
    assert_eq!(invalid.code, Some(2), "{invalid:?}");
    assert_eq!(server.json(&["exec", "list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn a_key_is_known_after_kill_nine() {
    let place = Place::new();
    let mut server = place.up(&[]);
    server.apply(COUNTER);
    let start = ["exec", "start", "counter", "--idempotency-key", "k"];
    let first = server.json(&start);
    server.signal(rustix::process::Signal::KILL);
    server.end();
    let server = place.up(&[]);
    assert_eq!(server.json(&start), first);
}

#[test]
fn a_migration_is_checked_before_it_is_done() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(COUNTER);
    let started = server.json(&["exec", "start", "counter"]);
    let id = started["id"].as_str().unwrap();
    server.apply(&COUNTER.replace("counting", "adding").replace("1h", "2h"));
    let check = server.run(&["exec", "migrate", id, "--check"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.contains("version 1 to 2: impossible"), "{check:?}");
    assert!(
        check
            .stdout
            .contains("/states/counting: active state `counting` has no counterpart"),
        "{check:?}"
    );
    let renamed = ["exec", "migrate", id, "--state", "counting=adding"];
    let check = server.run(&[&renamed[..], &["--check"]].concat()).ok();
    for text in [
        "possible; nothing was changed",
        "adding",
        "after 7200000 ms",
        "added",
        "dropped",
    ] {
        assert!(check.stdout.contains(text), "{text}: {check:?}");
    }
    assert_eq!(server.json(&["exec", "show", id])["version"], 1);
    server.run(&renamed).ok();
    assert_eq!(server.json(&["exec", "show", id])["version"], 2);
    let history = server.json(&["exec", "history", id]);
    assert_eq!(history["data"][1]["moved"]["active"][1], "adding");
}
