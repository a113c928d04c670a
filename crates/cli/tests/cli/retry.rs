//! Answers that say "later": commands try again for a while, under a key that makes them act once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::harness::Place;

const LATER: &str = r#"{"type":"/errors/shard-moved","title":"later","status":503,"detail":"another node has it now","code":"shard-moved","retryable":true,"errors":[]}"#;
const STARTED: &str = r#"{"id":"exe_01arz3ndektsv4rrffq69g5fav","key":null,"machine":"m","version":1,"status":"running","configuration":["a"],"variables":{},"tags":[],"waiting":{"state":"waiting","for":"message","object":"exe_01arz3ndektsv4rrffq69g5fav","since":"2026-01-31T12:00:00.000Z"},"sequence":1,"createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:00:00.000Z"}"#;

/// What a request was.
struct Seen {
    line: String,
    key: Option<String>,
}

/// A server that says "later" so many times, then what was asked for.
struct Busy {
    address: String,
    seen: Receiver<Seen>,
}

impl Busy {
    fn new(times: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, seen) = channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (status, body) = if number < times {
                    ("503 Service Unavailable\r\nretry-after: 1", LATER)
                } else {
                    ("201 Created", STARTED)
                };
                if answer(stream.unwrap(), status, body, &tell).is_none() {
                    return;
                }
            }
        });
        Self { address, seen }
    }
}

/// Answers one request; none once nobody listens any more.
fn answer(mut stream: TcpStream, status: &str, body: &str, tell: &Sender<Seen>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut key, mut length) = (String::new(), None, 0);
    lines.read_line(&mut line).ok()?;
    loop {
        let mut header = String::new();
        lines.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    lines.read_exact(&mut vec![0; length]).ok()?;
    tell.send(Seen { line, key }).ok()?;
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).ok()
}

#[test]
fn what_may_succeed_later_is_tried_again_and_acts_once() {
    let (place, busy) = (Place::new(), Busy::new(2));
    let ended = place
        .run(&["exec", "start", "m", "--server", &busy.address, "--output", "json"])
        .ok();
    assert_eq!(ended.json()["id"], "exe_01arz3ndektsv4rrffq69g5fav");
    let notes: Vec<&str> = ended.stderr.lines().collect();
    assert!(
        notes.len() == 1 && notes[0].contains("the server says `shard-moved`: trying again"),
        "one note: {notes:?}"
    );
    let seen: Vec<Seen> = busy.seen.try_iter().collect();
    let keys: Vec<&str> = seen.iter().map(|seen| seen.key.as_deref().unwrap()).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert!(seen.iter().all(|seen| seen.line.starts_with("POST /v1/executions ")));
}

#[test]
fn nobody_waits_who_does_not_want_to_and_the_user_s_own_key_stays() {
    let (place, busy) = (Place::new(), Busy::new(1));
    let start = [
        "exec",
        "start",
        "m",
        "--server",
        &busy.address,
        "--idempotency-key",
        "mine",
    ];
    place
        .run(&[&start[..], &["--no-retry"]].concat())
        .fails(1, "error[shard-moved]: another node has it now");
    let seen: Vec<Seen> = busy.seen.try_iter().collect();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].key.as_deref(), Some("mine"));
    place.run(&start).ok();
    assert_eq!(busy.seen.try_iter().next().unwrap().key.as_deref(), Some("mine"));
}

#[test]
fn after_a_while_the_server_s_words_are_the_failure() {
    let (place, busy) = (Place::new(), Busy::new(usize::MAX));
    let ended = place
        .run(&["exec", "show", "exe_1", "--server", &busy.address])
        .fails(1, "error[shard-moved]: another node has it now");
    assert_eq!(ended.stderr.matches("trying again").count(), 1, "{ended:?}");
    let tries = busy.seen.try_iter().count();
    assert!((2..=21).contains(&tries), "{tries}");
}

#[test]
fn a_server_s_address_is_taken_with_the_path_of_its_api_and_nonsense_is_explained() {
    let (place, busy) = (Place::new(), Busy::new(0));
    for path in ["/v1", "/v1/", "/"] {
        let server = format!("{}{path}", busy.address);
        place.run(&["exec", "show", "exe_1", "--server", &server]).ok();
        let seen = busy.seen.try_iter().next().unwrap();
        assert!(seen.line.starts_with("GET /v1/executions/exe_1 "), "{}", seen.line);
    }
    place.run(&["exec", "list", "--server", "foo"]).fails(
        2,
        "`foo` is not a server address: it must begin with http:// or https://",
    );
    let mut usage = place.command(&["exec", "show"]);
    let usage = crate::harness::run(usage.env("SPRAG_SERVER", "http://127.0.0.1:1").env("SPRAG_TOKEN", "t"));
    let usage = usage.fails(2, "<ID>");
    assert!(!usage.stderr.contains("--server <URL>"), "{usage:?}");
}
