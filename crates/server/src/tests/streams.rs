//! Live streams, over real sockets.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::world::{DOOMED, ORDER, Plan, SLOW, World};
use crate::Options;

/// Before a stream that says nothing counts as hung.
const GUARD: Duration = Duration::from_mins(1);

/// One event, or what is between events.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    name: String,
    pub(super) id: Option<u64>,
    pub(super) data: Value,
}

/// A reader of a stream. It asks in HTTP/1.0, so that the body comes as it is.
pub(super) struct Stream {
    reader: BufReader<TcpStream>,
    comments: usize,
}

impl Stream {
    pub(super) async fn open(world: &World, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let mut head = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut opened = Self {
            reader: BufReader::new(stream),
            comments: 0,
        };
        let status = opened.line().await.unwrap();
        assert!(status.starts_with("HTTP/1.0 200"), "{status}");
        let mut is_stream = false;
        while let Some(line) = opened.line().await.filter(|line| !line.is_empty()) {
            is_stream |= line == "content-type: text/event-stream";
        }
        assert!(is_stream);
        opened
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(GUARD, self.reader.read_line(&mut line)).await;
        let read = read.expect("the stream says something").unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event; none at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("id", id)) => event.id = Some(id.parse().unwrap()),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                Some(("retry", "1000")) => {}
                Some(("", _)) => self.comments += 1,
                None if line.is_empty() && event != Event::default() => return Some(event),
                _ => assert_eq!(line, ""),
            }
        }
    }

    /// Everything up to and with the first event of that name.
    async fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self
                .next()
                .await
                .unwrap_or_else(|| panic!("the end, before {name}: {events:?}"));
            events.push(event.clone());
            if event.name == name {
                return events;
            }
        }
    }
}

fn ids(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(|event| event.id).collect()
}

async fn pay(world: &World, id: &str) {
    let pay = json!({"type": "PAY", "payload": {"by": "Ada"}});
    world
        .post(&format!("/v1/executions/{id}/messages"), &pay)
        .await
        .expect(200);
}

async fn history(world: &World, id: &str) -> Vec<Value> {
    let list = world.get(&format!("/v1/executions/{id}/history")).await.expect(200);
    list["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_stream_says_what_was_and_what_comes_and_ends_with_the_execution() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let mut stream = Stream::open(&world, &format!("/v1/executions/{id}/stream"), &[]).await;
    let mut events = stream.until("execution").await;
    assert_eq!(ids(&events), [1]);
    assert_eq!(events.last().unwrap().data["status"], "running");
    pay(&world, &id).await;
    events.extend(stream.until("closed").await);
    assert_eq!(stream.next().await, None, "the stream ends");
    assert_eq!(ids(&events), [1, 2, 3], "dense, each once");
    let said: Vec<Value> = events
        .iter()
        .filter(|event| event.id.is_some())
        .map(|event| event.data.clone())
        .collect();
    assert_eq!(said, history(&world, &id).await, "entries are as the history has them");
    let closed = events.last().unwrap();
    assert_eq!(closed.id, None);
    assert_eq!(
        closed.data,
        world.get(&format!("/v1/executions/{id}")).await.expect(200)
    );
    let ship: Vec<&Event> = events.iter().filter(|event| event.name == "action").collect();
    assert!(ship.iter().all(|event| event.id.is_none()), "{ship:?}");
    assert_eq!(ship.last().unwrap().data["status"], "succeeded", "{ship:?}");
}

#[tokio::test]
async fn a_reader_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    for number in 0..40 {
        let message = json!({"type": "NOISE", "payload": number});
        world
            .post(&format!("/v1/executions/{id}/messages"), &message)
            .await
            .expect(200);
    }
    let path = format!("/v1/executions/{id}/stream");
    for (path, headers, expected) in [
        (path.clone(), vec![], 1..=41),
        (path.clone(), vec![("Last-Event-ID", "7")], 8..=41),
        (format!("{path}?after=39"), vec![], 40..=41),
        (format!("{path}?after=3"), vec![("Last-Event-ID", "38")], 39..=41),
    ] {
        let mut stream = Stream::open(&world, &path, &headers).await;
        let events = stream.until("execution").await;
        assert_eq!(ids(&events), expected.collect::<Vec<u64>>(), "{path} {headers:?}");
    }
    world.command(&format!("/v1/executions/{id}/cancel")).await.expect(200);
    let last = history(&world, &id).await.len().to_string();
    let mut stream = Stream::open(&world, &path, &[("Last-Event-ID", &last)]).await;
    let events = stream.until("closed").await;
    assert_eq!(ids(&events), [] as [u64; 0]);
    assert_eq!(events.last().unwrap().data["status"], "cancelled");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused_before_the_stream_begins() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    world
        .get("/v1/executions/exe_00000000000000000000000000/stream")
        .await
        .problem("execution-unknown");
    let path = format!("/v1/executions/{id}/stream");
    for value in ["x", "-1", "", "1.5", "2", "18446744073709551616"] {
        let refused = world.send("GET", &path, &[("Last-Event-ID", value)], b"").await;
        refused.problem("last-event-id-invalid");
        assert_eq!(refused.status, 400, "{value}");
    }
    let twice = [("Last-Event-ID", "1"), ("Last-Event-ID", "1")];
    let refused = world
        .send("GET", &path, &twice, b"")
        .await
        .problem("last-event-id-invalid");
    assert_eq!(refused["errors"][0]["pointer"], "Last-Event-ID");
    world.get(&format!("{path}?after=-1")).await.problem("query-invalid");
    world.get("/v1/stream?after=1").await.problem("query-invalid");
    let metrics = world.get("/metrics").await;
    assert!(metrics.body.contains("\nsprag_streams_open 0\n"), "{}", metrics.body);
}

#[tokio::test]
async fn actions_are_seen_as_they_change_and_statuses_too() {
    let world = World::start().await;
    world.apply(SLOW).await.expect(201);
    let id = world.begin("slow").await;
    let mut stream = Stream::open(&world, &format!("/v1/executions/{id}/stream"), &[]).await;
    let begun = stream.until("execution").await;
    let action = begun
        .iter()
        .find(|event| event.name == "action")
        .expect("what is open is said first");
    assert_eq!(action.data["status"], "running");
    world.command(&format!("/v1/executions/{id}/pause")).await.expect(200);
    let paused = stream.until("execution").await;
    assert_eq!(paused.last().unwrap().data["status"], "paused");
    let action = action.data["id"].as_str().unwrap();
    world.command(&format!("/v1/actions/{action}/cancel")).await.expect(200);
    loop {
        let changed = stream.until("action").await.pop().unwrap();
        assert_eq!((changed.id, &changed.data["id"]), (None, &json!(action)));
        if changed.data["status"] == "cancelled" {
            break;
        }
    }
}

/// One stream of an execution that has begun, and one of hints.
async fn both_streams() -> (World, Stream, Stream) {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let mut following = Stream::open(&world, &format!("/v1/executions/{id}/stream"), &[]).await;
    following.until("execution").await;
    let hinting = Stream::open(&world, "/v1/stream", &[]).await;
    (world, following, hinting)
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_is_alive() {
    let (_world, mut following, mut hinting) = both_streams().await;
    tokio::time::pause();
    for stream in [&mut following, &mut hinting] {
        while stream.line().await.unwrap() != ": alive" {}
    }
}

#[tokio::test]
async fn hints_name_what_changed() {
    let world = World::start().await;
    let mut stream = Stream::open(&world, "/v1/stream", &[]).await;
    world.apply(DOOMED).await.expect(201);
    assert_eq!(
        stream.next().await.unwrap().data,
        json!({"kind": "machine", "id": "doomed"})
    );
    let id = world.begin("doomed").await;
    let dead = world.action(&id, |action| action["status"] == "dead").await;
    let mut kinds = std::collections::BTreeSet::new();
    while kinds.len() < 3 {
        let event = stream.next().await.unwrap();
        assert_eq!((event.name.as_str(), event.id), ("hint", None));
        match event.data["kind"].as_str().unwrap() {
            "execution" => assert_eq!(event.data["id"], json!(id)),
            "action" => {
                assert_eq!(event.data["id"], dead["id"]);
                assert_eq!(event.data["executionId"], json!(id));
            }
            "deadLetter" => assert_eq!(event.data["id"], dead["id"]),
            other => panic!("{other}"),
        }
        kinds.insert(event.data["kind"].as_str().unwrap().to_owned());
    }
}

#[tokio::test]
async fn hints_of_other_kinds_are_filtered_by_kind_and_id() {
    let world = World::start().await;
    let mut stream = Stream::open(&world, "/v1/stream?kind=switch,job,limit", &[]).await;
    world.apply(DOOMED).await.expect(201);
    let id = world.begin("doomed").await;
    world.action(&id, |action| action["status"] == "dead").await;
    let switch = json!({"scope": "machine:doomed", "reason": "test"});
    let switch = world.post("/v1/kill-switches", &switch).await.expect(201);
    let hint = stream.next().await.unwrap();
    assert_eq!(
        hint.data,
        json!({"kind": "switch", "id": switch["id"]}),
        "nothing else comes before"
    );
    let body = json!({"filter": "machine = \"doomed\"", "reason": "test"});
    let job = world.post("/v1/dead-letters/archive", &body).await.expect(202);
    assert_eq!(
        stream.next().await.unwrap().data,
        json!({"kind": "job", "id": job["id"]})
    );
    let mut own = Stream::open(&world, &format!("/v1/stream?id={id}"), &[]).await;
    world.begin("doomed").await;
    world.command(&format!("/v1/executions/{id}/cancel")).await.expect(200);
    loop {
        // The job may archive its dead letter at the same time.
        let data = own.next().await.unwrap().data;
        if data["id"] == json!(id) {
            break;
        }
        assert_eq!(data["executionId"], json!(id), "nothing about another execution");
    }
    let problem = world
        .get("/v1/stream?kind=execution,swich")
        .await
        .problem("query-invalid");
    assert!(
        problem["detail"].as_str().unwrap().contains("did you mean `switch`?"),
        "{problem}"
    );
    for wrong in ["kind=", "id=", "id=a,,b", "kinds=job"] {
        world.get(&format!("/v1/stream?{wrong}")).await.problem("query-invalid");
    }
}

#[tokio::test]
async fn there_are_so_many_streams_and_no_more() {
    let plan = Plan::default();
    let options = Options {
        streams: 1,
        ..plan.options
    };
    let world = World::with(Plan { options, ..plan }).await;
    let mut first = Stream::open(&world, "/v1/stream", &[]).await;
    let refused = world.get("/v1/stream").await;
    let problem = refused.problem("too-many-streams");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .starts_with("1 streams are already open"),
        "{problem}"
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    world.apply(ORDER).await.expect(201);
    first.until("hint").await;
    drop(first);
    // The place is free once the server has noticed; changes are what it notices by.
    let freed = async {
        while !has_room(&world).await {
            world.begin("order").await;
        }
    };
    tokio::time::timeout(GUARD, freed)
        .await
        .expect("the place of a reader that left is free");
    Stream::open(&world, "/v1/stream", &[]).await;
}

async fn has_room(world: &World) -> bool {
    world.get("/metrics").await.body.contains("\nsprag_streams_open 0\n")
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let (world, mut following, mut hinting) = both_streams().await;
    hinting.line().await.unwrap();
    // The grace for requests that never end is 5 s: streams must not need it.
    tokio::time::timeout(Duration::from_secs(4), world.stop_server())
        .await
        .expect("streams end at once");
    assert_eq!(following.next().await, None);
    assert_eq!(hinting.next().await, None);
}
