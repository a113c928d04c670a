//! Switches, limits and backups, as operators use them.

use std::io::Read as _;
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_store::records::Fact;
use sprag_store::sqlite::{self, ReadPool};
use sprag_store::traits::{Reader, Readers};
use sprag_store::{Error, Memory};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{Reply, request};
use super::contract;
use super::world::{LATER, Plan, SLOW, World, engine};

/// A hang guard: so many requests take longer than anything here.
const LOOKS_MAX: usize = 10_000;
const JSON: (&str, &str) = ("Content-Type", "application/json");

async fn put(world: &World, path: &str, tag: Option<&str>, body: &Value) -> Reply {
    let mut headers = vec![JSON];
    headers.extend(tag.map(|tag| ("If-Match", tag)));
    world.send("PUT", path, &headers, body.to_string().as_bytes()).await
}

/// Looks until the action of an execution runs: that an attempt begins changes no execution, so no answer is sent.
async fn running(world: &World, execution: &str) {
    for _ in 0..LOOKS_MAX {
        let list = world.get(&format!("/v1/actions?executionId={execution}")).await;
        if list.expect(200)["data"][0]["status"] == "running" {
            return;
        }
    }
    panic!("the action of {execution} does not begin");
}

#[tokio::test]
async fn a_switch_is_put_on_shown_and_released() {
    let world = World::start().await;
    world.apply(SLOW).await.expect(201);
    let body = json!({"scope": "machine:slow", "reason": "INC-1"});
    let reply = world.post("/v1/kill-switches", &body).await;
    let switch = reply.expect(201);
    let id = switch["id"].as_str().unwrap();
    assert_eq!(reply.header("location"), Some(&*format!("/v1/kill-switches/{id}")));
    assert_eq!(
        (
            &switch["scope"],
            &switch["mode"],
            &switch["status"],
            &switch["by"],
            &switch["reason"]
        ),
        (
            &json!("machine:slow"),
            &json!("hold"),
            &json!("effective"),
            &json!("local"),
            &json!("INC-1")
        )
    );
    let execution = world.begin("slow").await;
    let action = world.action(&execution, |_| true).await;
    let expected = json!({"state": "waiting", "for": "killSwitch", "object": id, "since": switch["since"]});
    let path = format!("/v1/actions/{}", action["id"].as_str().unwrap());
    for (path, pointer) in [
        (path, "/waiting"),
        (format!("/v1/actions?executionId={execution}"), "/data/0/waiting"),
        (format!("/v1/executions/{execution}"), "/waiting"),
        (format!("/v1/executions/{execution}/explain"), "/waiting"),
    ] {
        let shown = world.get(&path).await.expect(200);
        assert_eq!(shown.pointer(pointer), Some(&expected), "{path}");
    }
    let one = world.get(&format!("/v1/kill-switches/{id}")).await;
    let tag = one.header("etag").unwrap().to_owned();
    assert_eq!(reply.header("etag"), Some(&*tag));
    let release = format!("/v1/kill-switches/{id}/release");
    let stale = world.send("POST", &release, &[("If-Match", "\"1\"")], b"").await;
    assert_eq!(stale.problem("precondition-failed")["status"], 412);
    let released = world
        .send("POST", &release, &[("If-Match", &tag)], b"")
        .await
        .expect(200);
    assert_eq!(
        (&released["status"], &released["held"]["queued"]["total"]),
        (&json!("released"), &json!(1))
    );
    running(&world, &execution).await;
    // It is gone once nothing waits for its release.
    while world.get("/v1/kill-switches").await.expect(200)["data"] != json!([]) {
        tokio::task::yield_now().await;
    }
    world.command(&release).await.problem("switch-unknown");
}

#[tokio::test]
async fn a_switch_that_cannot_be_meant_is_refused_with_everything_wrong() {
    let world = World::start().await;
    let body = json!({"scope": "everything", "mode": "stop", "expiresIn": "soon", "reason": " "});
    let problem = world.post("/v1/kill-switches", &body).await.problem("body-invalid");
    let pointers: Vec<_> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/scope", "/reason", "/mode", "/expiresIn"]);
    let body = json!({"scope": "machine:slwo", "reason": "x"});
    world.post("/v1/kill-switches", &body).await.problem("machine-unknown");
}

#[tokio::test]
async fn a_limit_is_listed_overridden_and_cleared() {
    let world = World::start().await;
    world.apply(SLOW).await.expect(201);
    let listed = world.get("/v1/limits").await.expect(200);
    assert_eq!(
        listed["data"],
        json!([{"key": "one", "definitions": [{"concurrency": 1}], "override": null,
                "running": 0, "waiting": 0, "more": false}])
    );
    let first = world.begin("slow").await;
    let second = world.begin("slow").await;
    world.action(&first, |action| action["status"] == "running").await;
    let shown = world.get("/v1/limits/one").await;
    assert_eq!(shown.header("etag"), Some("\"0\""));
    assert_eq!(
        (&shown.json()["running"], &shown.json()["waiting"]),
        (&json!(1), &json!(1))
    );
    let set = put(&world, "/v1/limits/one", Some("\"0\""), &json!({"concurrency": 2})).await;
    let tag = set.header("etag").unwrap().to_owned();
    assert_eq!(set.expect(200)["override"]["concurrency"], 2);
    running(&world, &second).await;
    let stale = put(&world, "/v1/limits/one", Some("\"0\""), &json!({"concurrency": 9})).await;
    stale.problem("precondition-failed");
    let rate = json!({"rate": {"count": 5, "per": "1m"}});
    let set = put(&world, "/v1/limits/one", Some(&tag), &rate).await;
    assert_eq!(set.expect(200)["override"]["rate"], json!({"count": 5, "per": 60_000}));
    let cleared = world.send("DELETE", "/v1/limits/one", &[], b"").await.expect(200);
    assert_eq!(cleared["override"], Value::Null);
}

#[tokio::test]
async fn a_key_with_a_slash_is_one_key() {
    let world = World::start().await;
    let set = put(&world, "/v1/limits/order%2Fship", None, &json!({"concurrency": 0})).await;
    assert_eq!(set.expect(200)["key"], "order/ship");
}

#[tokio::test]
async fn numbers_that_cannot_be_meant_are_refused_by_their_place() {
    let world = World::start().await;
    for (body, pointer) in [
        (json!({}), ""),
        (json!({"concurrency": -1}), "/concurrency"),
        (json!({"concurrency": 5_000_000_000_u64}), "/concurrency"),
        (json!({"rate": {"count": 0, "per": 5}}), "/rate/count"),
        (json!({"rate": {"count": 1}}), "/rate/per"),
        (json!({"rate": {"count": 1, "per": "x"}}), "/rate/per"),
        (json!({"rate": {"count": 1, "per": 5, "burst": 2}}), "/rate/burst"),
    ] {
        let problem = put(&world, "/v1/limits/one", None, &body).await.problem("body-invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
    }
}

/// The bytes of the answer to a request, after its head.
pub(super) async fn bytes(world: &World, path: &str, headers: &[(&str, &str)]) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let asked = request("POST", path, headers, b"");
    stream.write_all(&asked).await.unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    let end = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let body = all.split_off(end + 4);
    let head = String::from_utf8(all).unwrap();
    let reply = Reply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: String::new(),
    };
    contract::check(&asked, &reply);
    (reply.head, body)
}

#[tokio::test]
async fn a_backup_is_a_database_with_what_was_there() {
    let world = World::start().await;
    world.apply(LATER).await.expect(201);
    let id = world.begin("later").await;
    let (head, body) = bytes(&world, "/v1/system/backup", &[]).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("application/vnd.sqlite3"), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    std::fs::write(&path, body).unwrap();
    let store = sqlite::open(&sqlite::Options { path }).unwrap();
    let found = store.readers.get().execution(id.parse().unwrap()).unwrap();
    assert_eq!(found.unwrap().machine, "later");
    assert_eq!(world.get("/v1/system/restored").await.expect(200), Value::Null);
}

/// A store whose copies take until they are let go.
struct Slow {
    pool: ReadPool,
    asked: std::sync::mpsc::Sender<()>,
    go: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Readers for Slow {
    fn reader(&self, kind: sprag_store::ReadKind) -> Result<Box<dyn Reader + '_>, Error> {
        self.pool.reader(kind)
    }

    fn snapshot(&self, mark: &Fact) -> Result<std::fs::File, Error> {
        // Only the first one is waited for.
        let _ = self.asked.send(());
        self.go.lock().unwrap().recv().unwrap();
        self.pool.snapshot(mark)
    }
}

#[tokio::test]
async fn one_backup_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite::open(&sqlite::Options {
        path: folder.path().join("sprag.db"),
    })
    .unwrap();
    let (asked, was_asked) = std::sync::mpsc::channel();
    let (let_go, go) = std::sync::mpsc::channel();
    let slow = Slow {
        pool: store.readers,
        asked,
        go: std::sync::Mutex::new(go),
    };
    let engine = engine(Box::new(store.writer), Arc::new(slow));
    let world = World::before(engine, Plan::default(), folder).await;
    let handle = world.handle.clone();
    let first = tokio::spawn(async move { handle.operate().backup(&sprag_engine::Asker::default()).await });
    tokio::task::spawn_blocking(move || was_asked.recv().unwrap())
        .await
        .unwrap();
    world.command("/v1/system/backup").await.problem("backup-under-way");
    let_go.send(()).unwrap();
    let mut header = [0; 15];
    first.await.unwrap().unwrap().read_exact(&mut header).unwrap();
    assert_eq!(&header, b"SQLite format 3");
    let_go.send(()).unwrap();
    assert_eq!(bytes(&world, "/v1/system/backup", &[]).await.1[..15], header);
}

#[tokio::test]
async fn a_store_that_is_no_file_says_that_it_cannot() {
    let memory = Memory::default();
    let engine = engine(Box::new(memory.clone()), Arc::new(memory));
    let world = World::before(engine, Plan::default(), tempfile::tempdir().unwrap()).await;
    let problem = world.command("/v1/system/backup").await.problem("backup-unsupported");
    assert_eq!(problem["status"], 409);
    assert!(
        problem["detail"].as_str().unwrap().contains("use one that is a file"),
        "{problem}"
    );
}
