//! What people see on a terminal: a real one, which `script` of util-linux makes.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use sprag_tests::{Reply, Site};

use crate::harness::{Place, Server, eventually};

/// A program on a terminal.
pub(crate) struct Session {
    child: Child,
    keyboard: ChildStdin,
    screen: Arc<Mutex<Vec<u8>>>,
    /// How much of the screen was read.
    seen: usize,
}

impl Session {
    /// Starts a command line on a terminal of 80 columns.
    pub(crate) fn start(place: &Place, command: &str, variables: &[(&str, &str)]) -> Self {
        let mut script = place.program("script");
        script
            .args([
                "-q",
                "-e",
                "-c",
                &format!("stty cols 80 rows 24; exec {command}"),
                "/dev/null",
            ])
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = script.spawn().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (mut output, written) = (child.stdout.take().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                written.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self {
            keyboard: child.stdin.take().unwrap(),
            child,
            screen,
            seen: 0,
        }
    }

    /// Presses these keys.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until the terminal shows something new with this in it.
    pub(crate) fn until(&mut self, part: &str) {
        let (screen, seen) = (Arc::clone(&self.screen), self.seen);
        let shown = || String::from_utf8_lossy(&screen.lock().unwrap()[seen..]).into_owned();
        let found = eventually_or(part, || shown().find(part).map(|at| at + part.len()), &shown);
        self.seen += found;
    }

    /// Waits for the end, and gives all that was shown.
    fn end(&mut self) -> String {
        eventually("the program ends", || self.child.try_wait().unwrap());
        // The reader ends with the program; what it wrote last may take a moment.
        eventually("all is read", || (Arc::strong_count(&self.screen) == 1).then_some(()));
        String::from_utf8(self.screen.lock().unwrap().clone()).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits, and shows what was there if it never comes.
fn eventually_or<T>(what: &str, look: impl FnMut() -> Option<T>, shown: &dyn Fn() -> String) -> T {
    struct Shows<'a>(&'a dyn Fn() -> String);
    impl Drop for Shows<'_> {
        #[expect(clippy::disallowed_macros, reason = "a test that fails shows the terminal")]
        fn drop(&mut self) {
            if std::thread::panicking() {
                println!("the terminal shows {:?}", (self.0)());
            }
        }
    }
    let _shows = Shows(shown);
    eventually(what, look)
}

const SPRAG: &str = env!("CARGO_BIN_EXE_sprag");

/// What a command shows on a terminal.
fn shown(server: &Server<'_>, place: &Place, arguments: &str, variables: &[(&str, &str)]) -> String {
    let variables = [&[("SPRAG_SERVER", server.address.as_str())], variables].concat();
    Session::start(place, &format!("{SPRAG} {arguments}"), &variables).end()
}

const LONG: &str = "\
id: a-machine-with-a-rather-long-name
initial: waiting
states:
  waiting: { on: { GO: end, failed.call: waiting } }
  end: { type: final }
actions:
  - { actionId: call, type: fail, triggerState: waiting, retryPolicy: { maxAttempts: 1 }, config: { message: 'the bank is closed until tomorrow morning' } }
";

#[test]
fn statuses_have_colours_on_a_terminal_and_nowhere_else() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(LONG);
    server.json(&["exec", "start", "a-machine-with-a-rather-long-name", "--key", "k"]);
    eventually("a dead letter", || {
        server.json(&["dlq", "list"])["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });

    let list = shown(&server, &place, "exec list", &[]);
    assert!(list.contains("\u{1b}[32mrunning\u{1b}[0m"), "{list:?}");
    let dead = shown(&server, &place, "dlq list", &[]);
    assert!(dead.contains("\u{1b}[31mdead\u{1b}[0m"), "{dead:?}");
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        let plain = shown(&server, &place, "exec list", &variables);
        assert!(
            plain.contains("running") && !plain.contains('\u{1b}'),
            "{variables:?}: {plain:?}"
        );
    }
    let empty = shown(&server, &place, "exec list", &[("NO_COLOR", "")]);
    assert!(
        empty.contains("\u{1b}[32m"),
        "an empty NO_COLOR says nothing: {empty:?}"
    );
    let piped = server.run(&["exec", "list"]).ok();
    assert!(
        piped.stdout.contains("running") && !piped.stdout.contains('\u{1b}'),
        "{piped:?}"
    );
    let json = shown(&server, &place, "exec list --output json", &[]);
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
}

/// The text without its colours.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[test]
fn tables_fit_a_terminal_of_80_columns() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(LONG);
    let key = "customer-4711-order-0815-2026";
    let id = server.json(&["exec", "start", "a-machine-with-a-rather-long-name", "--key", key])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let dead = eventually("a dead letter", || {
        server.json(&["dlq", "list"])["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    for (command, whole) in [
        ("exec list", &id),
        ("action list", &dead),
        ("dlq list", &dead),
        ("machine list", &"a-machine-with-a-rather-long-name".to_owned()),
    ] {
        let text = without_colours(&shown(&server, &place, command, &[]));
        assert!(
            text.lines().all(|line| line.trim_end().chars().count() <= 80),
            "{command}: {text}"
        );
        assert!(text.contains(whole.as_str()), "{command} cuts an id: {text}");
    }
    let wide = without_colours(&shown(&server, &place, "exec list --wide", &[]));
    assert!(
        wide.lines().any(|line| line.chars().count() > 80) && wide.contains(key),
        "{wide}"
    );
}

#[test]
fn a_terminal_obeys_no_name() {
    let site = Site::start(|_| {
        let row = serde_json::json!({
            "id": "m\u{1b}]0;owned\u{7}",
            "version": 1,
            "digest": "00",
            "description": "\u{1b}[2J",
            "createdAt": "2026-01-31T12:00:00.000Z",
        });
        Reply::json(200, &serde_json::json!({"data": [row], "nextCursor": null}))
    });
    let place = Place::new();
    let text = Session::start(&place, &format!("{SPRAG} machine list --server {}", site.url("")), &[]).end();
    assert!(
        text.contains("m\\u001b]0;owned\\u0007") && !text.contains('\u{1b}'),
        "{text:?}"
    );
}
