//! Signals end the server in time.

use std::time::Duration;

use rustix::process::Signal;
use sprag_core::clock::System;
use sprag_core::time::Timestamp;

use crate::harness::{Place, Server, eventually};

/// The promise: asked to stop, a process is gone within this.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// A program that ignores SIGTERM and says that it runs by writing its id.
fn stubborn(place: &Place) -> String {
    let pid = place.path("pid");
    let script = format!(
        "trap '' TERM; echo $$ > {0}.part; mv {0}.part {0}; while :; do sleep 0.1; done",
        pid.display()
    );
    format!(
        "id: stubborn\ninitial: working\nstates:\n  working:\n    on: {{ done.work: ended, failed.work: broken }}\n  \
         ended: {{ type: final }}\n  broken: {{ on: {{ STOP: ended }} }}\nactions:\n  - actionId: work\n    type: exec\n    \
         triggerState: working\n    onUnknown: review\n    config: {{ command: [/bin/sh, \"-c\", \"{script}\"] }}\n"
    )
}

/// Starts an execution whose action ignores SIGTERM, and waits until its program runs.
fn start_stubborn(place: &Place, server: &Server<'_>) -> (String, String) {
    server.apply(&stubborn(place));
    let id = server.json(&["exec", "start", "stubborn"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let pid = eventually("the program runs", || std::fs::read_to_string(place.path("pid")).ok());
    (id, pid.trim().to_owned())
}

fn is_running(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid).join("exe").read_link().is_ok()
}

#[test]
fn a_server_with_nothing_to_do_stops_at_once_and_cleanly() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = place.up(&[]);
        server.signal(signal);
        assert_eq!(server.end().code(), Some(0), "{}", server.log());
        assert!(server.log().contains("\"stopped\""), "{}", server.log());
    }
}

#[test]
fn an_action_that_ignores_sigterm_does_not_hold_the_process() {
    let place = Place::new();
    let variables = [("SPRAG_EXEC_ALLOW", "/bin/sh")];
    let mut server = place.up(&variables);
    let (id, pid) = start_stubborn(&place, &server);
    let clock = System::start(Timestamp::default());
    server.signal(Signal::TERM);
    let status = server.end();
    let took = clock.elapsed();
    assert!(took < GONE_WITHIN, "{took:?}");
    assert_eq!(status.code(), Some(0), "{}", server.log());
    eventually("the program is gone", || (!is_running(&pid)).then_some(()));
    drop(server);
    // Nobody knows what the attempt did, and it was not to be repeated: a person is asked.
    let server = place.up(&variables);
    let execution = eventually("the attempt is settled", || {
        Some(server.json(&["exec", "show", &id])).filter(|execution| execution["configuration"][0] == "broken")
    });
    assert_eq!(execution["status"], "running");
    let dead = server.json(&["dlq", "list"]);
    assert_eq!(dead["data"][0]["attempts"][0]["outcome"], "unknown");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::new();
    let mut server = place.up(&[("SPRAG_EXEC_ALLOW", "/bin/sh")]);
    let (_, pid) = start_stubborn(&place, &server);
    server.signal(Signal::TERM);
    eventually("it was heard", || server.log().contains("stop requested").then_some(()));
    server.signal(Signal::INT);
    assert_eq!(server.end().code(), Some(1));
    assert!(server.log().contains("second stop requested"), "{}", server.log());
    drop(server);
    // The program survived, and the next server ends it before it settles the attempt.
    let _server = place.up(&[("SPRAG_EXEC_ALLOW", "/bin/sh")]);
    eventually("the program is gone", || (!is_running(&pid)).then_some(()));
}

#[test]
fn a_request_that_waits_is_answered_when_the_server_stops() {
    let place = Place::new();
    let mut server = place.up(&[]);
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    let mut waiting = place.command(&["exec", "start", "door", "--wait", "60s", "--output", "json"]);
    let mut waiting = waiting
        .env("SPRAG_SERVER", &server.address)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("it waits", || {
        (!server.json(&["exec", "list"])["data"].as_array().unwrap().is_empty()).then_some(())
    });
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.log());
    eventually("the command ends", || waiting.try_wait().unwrap());
}
