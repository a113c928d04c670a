//! `--idempotency-key`, `--newest`, and migrations with their check, as a user types them.

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
            .contains("/states/counting: active state `counting` does not exist"),
        "{check:?}"
    );
    let renamed = ["exec", "migrate", id, "--state", "counting=adding"];
    let check = server.run(&[&renamed[..], &["--check"]].concat()).ok();
    for text in [
        "possible; nothing was changed",
        "adding",
        "after 2h",
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

#[test]
fn many_executions_are_checked_and_moved_by_a_filter() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(COUNTER);
    let ids: Vec<String> = ["taken", "fresh", "closed"]
        .map(|tag| {
            let started = server.json(&["exec", "start", "counter", "--tag", tag]);
            started["id"].as_str().unwrap().to_owned()
        })
        .to_vec();
    server.run(&["exec", "send", &ids[0], "TAKE"]).ok();
    server.run(&["exec", "cancel", &ids[2]]).ok();
    server.apply(&COUNTER.replace("taken + 1", "taken + 2"));
    let filter = ["exec", "migrate", "--filter", "machine = \"counter\""];
    let check = server.run(&[&filter[..], &["--check"]].concat()).fails(1, "");
    assert_eq!(check.stderr, "", "nothing but data off a terminal: {check:?}");
    let taken = format!("{}  diverges at entry 2: after message `TAKE`", ids[0]);
    assert!(check.stdout.contains(&taken), "{check:?}");
    assert!(
        check.stdout.contains(&format!("{}  version 1 to 2: the same", ids[1])),
        "{check:?}"
    );
    assert!(!check.stdout.contains(&ids[2]), "a closed one stays: {check:?}");
    let moved = server.json(&filter);
    assert_eq!(moved["data"].as_array().unwrap().len(), 2);
    assert_eq!(moved["data"][0]["execution"]["version"], 2);
    // By id, one that cannot be holds up no other.
    server.apply(&COUNTER.replace("1h", "3h"));
    let named = server.run(&["exec", "migrate", &ids[2], &ids[1]]).fails(1, "");
    assert!(named.stdout.contains("refused: execution"), "{named:?}");
    assert!(named.stdout.contains("moved to version 3"), "{named:?}");
    server.run(&["exec", "migrate"]).fails(2, "ID");
}

#[test]
fn what_operators_ask_under_a_key_is_done_once() {
    let place = Place::new();
    let server = place.up(&[]);
    let on = [
        "switch",
        "on",
        "all",
        "--reason",
        "a test",
        "--for",
        "1h",
        "--idempotency-key",
        "k",
    ];
    let first = server.json(&on);
    assert_eq!(server.json(&on), first);
    assert_eq!(server.json(&["switch", "list"])["data"].as_array().unwrap().len(), 1);
    let off = ["switch", "off", first["id"].as_str().unwrap(), "--idempotency-key", "k"];
    assert_eq!(server.json(&off), server.json(&off));
    let all = [
        "dlq",
        "retry-all",
        "--filter",
        "machine = \"x\"",
        "--idempotency-key",
        "k",
    ];
    let job = server.json(&all);
    assert_eq!(server.json(&all), job);
    assert_eq!(server.json(&["job", "list"])["data"].as_array().unwrap().len(), 1);
    let waited = server.json(&["job", "show", job["id"].as_str().unwrap(), "--wait"]);
    assert_eq!(waited["status"], "completed");
}

#[test]
fn a_machine_is_applied_over_the_version_that_was_seen_only() {
    let place = Place::new();
    let server = place.up(&[]);
    let file = place.write("counter.yaml", COUNTER);
    let apply = |newest: &str| server.run(&["machine", "apply", file.to_str().unwrap(), "--newest", newest]);
    apply("1").fails(1, "error[precondition-failed]: machine `counter` does not exist");
    apply("0").ok();
    apply("0").fails(1, "machine `counter` is at revision 1");
    apply("1").ok();
}
