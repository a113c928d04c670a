//! Lists: filters, pages, and what they look like.

use crate::harness::Place;

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
    assert!(keys(&["--machine", "gate"]).is_empty());
    server
        .run(&["exec", "list", "--status", "sleeping"])
        .fails(2, "error[query-invalid]");
    let empty = server.run(&["action", "list"]).ok();
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", "nothing found\n"));
}
