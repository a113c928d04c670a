//! `sprag exec watch`: the whole story, once, whatever becomes of the server.

use std::fs::File;
use std::process::{Child, Command};

use serde_json::Value;

use crate::harness::{Place, Server, eventually, run};

const ORDER: &str = "\
id: order
initial: open
states:
  open: { on: { PAY: { target: paid, assign: { by: \"{{message.payload.by}}\" } } } }
  paid: { on: { done.ship: shipped, failed.ship: stuck, SPOIL: spoiled } }
  stuck: { on: { END: shipped } }
  spoiled: { after: { 10ms: { target: shipped, assign: { x: \"{{variables.by.first.letter}}\" } } } }
  shipped: { type: final, output: { by: \"{{variables.by}}\" } }
actions:
  - { actionId: ship, type: wait, triggerState: paid, config: { seconds: 0 } }
";

fn start(server: &Server<'_>) -> String {
    server.apply(ORDER);
    let started = server.json(&["exec", "start", "order"]);
    started["id"].as_str().unwrap().to_owned()
}

/// A watch that runs, writing to a file of its own.
struct Watch {
    child: Child,
    path: std::path::PathBuf,
}

impl Watch {
    fn start(place: &Place, address: &str, arguments: &[&str]) -> Self {
        let path = place.path("watched");
        let mut command: Command = place.command(&[&["exec", "watch"], arguments].concat());
        command.env("SPRAG_SERVER", address);
        let notes = File::create(path.with_extension("notes")).unwrap();
        let child = command
            .stdout(File::create(&path).unwrap())
            .stderr(notes)
            .spawn()
            .unwrap();
        Self { child, path }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    /// What it said beside the data.
    fn notes(&self) -> String {
        std::fs::read_to_string(self.path.with_extension("notes")).unwrap()
    }

    fn sees(&self, what: &str) {
        eventually(what, || self.text().contains(what).then_some(()));
    }

    fn end(&mut self) -> Option<i32> {
        eventually("the watch ends", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watch_tells_what_happens_and_ends_with_the_execution() {
    let place = Place::new();
    let server = place.up(&[]);
    let id = start(&server);
    let mut watch = Watch::start(&place, &server.address, &[&id]);
    watch.sees("is running: in open; it waits for a message");
    server.run(&["exec", "send", &id, "PAY", "{\"by\": \"Ada\"}"]).ok();
    assert_eq!(watch.end(), Some(0));
    let text = watch.text();
    for sentence in [
        "  1  start, entered order, open\n",
        "  2  message PAY, left open, entered paid, changed by\n",
        "action ship (wait) succeeded: ",
        "  3  done.ship, left paid, entered shipped\n",
        &format!("{id} is completed: output {{\"by\":\"Ada\"}}\n"),
    ] {
        assert_eq!(text.matches(sentence).count(), 1, "{sentence} in\n{text}");
    }
}

#[test]
fn a_cancelled_execution_is_4_and_a_failed_one_3() {
    let place = Place::new();
    let server = place.up(&[]);
    let id = start(&server);
    server.run(&["exec", "cancel", &id]).ok();
    let ended = server.run(&["exec", "watch", &id]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.ends_with("is cancelled: in open\n"), "{ended:?}");
    server.apply(&ORDER.replace("seconds: 0", "seconds: 3600"));
    let spoiled = server.json(&["exec", "start", "order"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.run(&["exec", "send", &spoiled, "PAY", "{\"by\": \"Ada\"}"]).ok();
    server.run(&["exec", "send", &spoiled, "SPOIL"]).ok();
    let ended = server.run(&["exec", "watch", &spoiled]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stdout.contains(&format!("sprag exec resume {spoiled}")),
        "{ended:?}"
    );
    let help = server.run(&["exec", "watch", "--help"]).ok();
    for line in [
        "  3  a decision of the execution failed",
        "  4  the execution was cancelled",
    ] {
        assert!(help.stdout.contains(line), "{help:?}");
    }
}

#[test]
fn what_is_not_there_cannot_be_watched() {
    let place = Place::new();
    let server = place.up(&[]);
    let id = start(&server);
    server
        .run(&["exec", "watch", "exe_nothing"])
        .fails(1, "error[execution-unknown]");
    server
        .run(&["exec", "watch", &id, "--after", "9"])
        .fails(2, "error[last-event-id-invalid]");
    place
        .run(&["exec", "watch", &id, "--server", "http://127.0.0.1:1"])
        .fails(1, "error[server-unreachable]");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_watch() {
    let place = Place::new();
    let server = place.up(&[]);
    let id = start(&server);
    let script = format!("\"$0\" exec watch {id} --output json | head -n 1");
    let sprag = place.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script])
        .arg(sprag.get_program())
        .env("SPRAG_SERVER", &server.address);
    // The watch finds out with the next line it writes.
    let reader = std::thread::spawn(move || run(&mut shell));
    eventually("the watch ends", || {
        server.run(&["exec", "send", &id, "NOISE"]).ok();
        reader.is_finished().then_some(())
    });
    assert_eq!(reader.join().unwrap().stdout.lines().count(), 1);
}

#[test]
fn nothing_is_said_twice_because_the_server_was_away() {
    let place = Place::new();
    let mut server = place.up(&[]);
    let id = start(&server);
    let listen = server.address.strip_prefix("http://").unwrap().to_owned();
    let mut watch = Watch::start(&place, &server.address, &[&id]);
    watch.sees("it waits for a message");
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(
        server.end().code(),
        Some(0),
        "a watch does not hold the server: {}",
        server.log()
    );
    drop(server);
    let server = place.up_at(&listen, &[]);
    eventually("the watch is back", || {
        watch.notes().contains("connected again").then_some(())
    });
    server.run(&["exec", "send", &id, "NOISE"]).ok();
    watch.sees("message NOISE (unhandled)");
    server.run(&["exec", "cancel", &id]).ok();
    assert_eq!(watch.end(), Some(4));
    let text = watch.text();
    assert_eq!(text.matches("it waits for a message").count(), 1, "{text}");
}

#[test]
fn a_watch_goes_on_when_the_server_is_back() {
    let place = Place::new();
    let mut server = place.up(&[]);
    let id = start(&server);
    let listen = server.address.strip_prefix("http://").unwrap().to_owned();
    let mut watch = Watch::start(&place, &server.address, &[&id, "--output", "json"]);
    server.run(&["exec", "send", &id, "NOISE"]).ok();
    watch.sees("NOISE");
    server.signal(rustix::process::Signal::KILL);
    server.end();
    drop(server);
    let server = place.up_at(&listen, &[]);
    server.run(&["exec", "send", &id, "PAY", "{\"by\": \"Ada\"}"]).ok();
    assert_eq!(watch.end(), Some(0));
    let lines: Vec<Value> = watch
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<u64> = lines.iter().filter_map(|line| line["id"].as_u64()).collect();
    assert_eq!(ids, [1, 2, 3, 4], "every entry once, in order");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["event"], &last["data"]["status"]),
        (&"closed".into(), &"completed".into())
    );
}
