//! Builds with failpoints die where they are told to.

use crate::harness::{Place, run};

#[test]
fn a_process_dies_at_its_failpoint_and_the_next_one_goes_on() {
    let place = Place::new();
    // The first commit of every process says that it lives.
    let ended = run(place
        .command(&["up", "--listen", "127.0.0.1:0"])
        .env("SPRAG_FAILPOINT", "before-commit:1"));
    assert_eq!(ended.code, None, "{ended:?}");
    let ended = run(place.command(&["up"]).env("SPRAG_FAILPOINT", "before-comit:1"));
    ended.fails(2, "is no failpoint");
    let server = place.up(&[("SPRAG_FAILPOINT", "after-commit:4")]);
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    server
        .run(&["exec", "start", "door", "--key", "front"])
        .fails(1, "error[server-");
    drop(server);
    // Committed, never answered: it is there.
    let server = place.up(&[]);
    let listed = server.json(&["exec", "list"]);
    assert_eq!(listed["data"][0]["key"], "front");
}

#[test]
fn a_disk_that_fails_stops_the_server_with_the_reason() {
    let place = Place::new();
    let mut server = place.up(&[("SPRAG_FAILPOINT", "disk-commit:3")]);
    let path = place.write(
        "door.yaml",
        "id: door\ninitial: shut\nstates:\n  shut: { type: final }\n",
    );
    let applied = server.run(&["machine", "apply", path.to_str().unwrap()]);
    assert_eq!(applied.code, Some(1), "{applied:?}");
    assert_eq!(server.end().code(), Some(1));
    let log = server.log();
    assert!(
        log.contains("error[engine-stopped]: the engine stopped: the disk failed"),
        "{log}"
    );
}
