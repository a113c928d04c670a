//! Stores that cannot be opened, each with its named error.

use rustix::process::Signal;

use crate::harness::Place;

#[test]
fn a_second_process_on_the_same_file_is_refused() {
    let place = Place::new();
    let server = place.up(&[]);
    let ended = place
        .run(&["up", "--listen", "127.0.0.1:0"])
        .fails(1, "error[store-locked]: another process has");
    assert_eq!(
        ended.stderr.lines().filter(|line| line.starts_with("error")).count(),
        1,
        "{ended:?}"
    );
    server.run(&["system"]).ok();
}

#[test]
fn a_store_that_cannot_be_opened_is_one_clear_line() {
    let place = Place::new();
    place
        .run(&["up", "--store", "sqlite:nowhere/sprag.db"])
        .fails(1, "error[directory-missing]");
    place.write("other.db", &"not a database ".repeat(100));
    place
        .run(&["up", "--store", "sqlite:other.db"])
        .fails(1, "error[corrupt]");
}

#[test]
fn an_address_that_is_taken_is_said_so() {
    let place = Place::new();
    let server = place.up(&[]);
    let taken = server.address.strip_prefix("http://").unwrap();
    place
        .run(&["up", "--store", "sqlite:other.db", "--listen", taken])
        .fails(1, "cannot listen on");
    for name in ["other.db", "other.db-lock"] {
        assert!(!place.path(name).exists(), "{name} is left");
    }
}

#[test]
fn a_directory_is_no_store_and_a_failed_restore_leaves_nothing() {
    let place = Place::new();
    let folder = place.path("folder");
    std::fs::create_dir(&folder).unwrap();
    place
        .run(&["up", "--store", "sqlite:folder"])
        .fails(1, "is a directory; name a file in it");
    let backup = place.write("backup.db", &"no backup ".repeat(500));
    place
        .run(&["restore", backup.to_str().unwrap(), "--store", "sqlite:folder/sprag.db"])
        .fails(1, "backup.db");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    place
        .run(&["up", "--store", "sqlite:./sprag.db?mode=ro"])
        .fails(2, "`?mode=ro` is not understood");
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let place = Place::new();
    let mut server = place.up(&[]);
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    let id = server.json(&["exec", "start", "door", "--key", "front"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.json(&["exec", "send", &id, "OPEN"]);
    server.signal(Signal::KILL);
    server.end();
    drop(server);
    let server = place.up(&[]);
    let execution = server.json(&["exec", "show", &id]);
    assert_eq!(execution["configuration"][0], "open");
    assert_eq!(execution["sequence"], 2);
    assert_eq!(server.json(&["exec", "replay", &id])["agrees"], true);
    assert_eq!(
        server.json(&["exec", "send", "--machine", "door", "--key", "front", "SHUT"])["handled"],
        true
    );
}
