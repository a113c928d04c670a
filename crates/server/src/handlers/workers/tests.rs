//! The API of supervision over a real socket, with a real supervisor and a real process behind it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use sprag_core::clock::{Clock, System};
use sprag_core::document::source::Format;
use sprag_core::time::Timestamp;
use sprag_supervisor::process::{self, Services, StateFolder};
use sprag_supervisor::store::{Store, StoreOptions};
use sprag_supervisor::{Declaration, Setup, ShutdownOutcome, Supervisor, services};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::{NotReloaded, Reload, Reloaded};
use crate::routes::table;
use crate::{Server, Workers};

const FILE: &str = "
services:
  web: { command: [sh, -c, 'echo hello; exec sleep 1000'], stop: { grace: 2s } }
  job: { command: [sh, -c, 'exit 0'], enabled: false }
";

/// A file that is valid every second time.
struct Edited(AtomicUsize);

impl Reload for Edited {
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NotReloaded>> {
        let looks = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if looks % 2 == 1 {
                let findings = services::load("services: { a: 1 }", Format::Yaml, Path::new("/")).findings;
                let detail = "it has errors".to_owned();
                return Err(NotReloaded { detail, findings });
            }
            Ok(Reloaded {
                unchanged: 2,
                ..Reloaded::default()
            })
        })
    }
}

struct Scene {
    address: SocketAddr,
    workers: Workers,
    ticking: JoinHandle<ShutdownOutcome>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::from_millis(0)));
        let place = Arc::new(StateFolder::open(&folder.path().join("state.db")).unwrap());
        let known = Services::new(place, Arc::clone(&clock));
        let file = services::load(FILE, Format::Yaml, Path::new("/")).file.unwrap();
        let declaration = Declaration {
            children: process::children(&file).unwrap(),
            ..Declaration::default()
        };
        let store = Arc::new(Store::in_memory(StoreOptions::default(), 1));
        let setup = Setup::new(known.registry(), Arc::clone(&clock)).store(Arc::clone(&store));
        let (supervisor, handle) = Supervisor::new(setup, declaration).unwrap();
        let ticking = tokio::spawn(supervisor.run());
        let workers = Workers {
            handle,
            services: known,
            store,
            reload: Arc::new(Edited(AtomicUsize::new(0))),
            clock: Arc::clone(&clock),
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind_supervision(listen, workers.clone(), clock.now())
            .await
            .unwrap();
        let address = server.address();
        tokio::spawn(server.run(std::future::pending()));
        Self {
            address,
            workers,
            ticking,
            _folder: folder,
        }
    }

    async fn ask(&self, method: &str, path: &str, host: &str) -> (u16, Value) {
        let (status, _, body) = self.exchange(method, path, &format!("Host: {host}")).await;
        (status, body)
    }

    /// A POST under an idempotency key: its status, whether it was a replay, and what it said.
    async fn once(&self, path: &str, key: &str) -> (u16, bool, Value) {
        let headers = format!("Host: localhost\r\nIdempotency-Key: {key}");
        let (status, head, body) = self.exchange("POST", path, &headers).await;
        (status, head.to_lowercase().contains("idempotent-replayed: true"), body)
    }

    async fn exchange(&self, method: &str, path: &str, headers: &str) -> (u16, String, Value) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        (
            status,
            head.to_owned(),
            serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())),
        )
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, "localhost").await
    }

    async fn until(&self, path: &str, state: &str) -> Value {
        for _ in 0..3_000 {
            let (_, list) = self.get("/v1/workers").await;
            let workers = list["data"].as_array().cloned().unwrap_or_default();
            let found = workers
                .into_iter()
                .find(|worker| worker["path"] == path && worker["state"] == state);
            if let Some(found) = found {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{path} never was {state}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_seen_steered_and_explained() {
    let scene = Scene::set().await;
    let web = scene.until("web", "running").await;
    assert!(web["pid"].is_i64() && web["circuit"] == "closed", "{web}");
    assert_eq!(scene.until("job", "stopped").await["pid"], Value::Null);
    let (status, logs) = scene.get("/v1/workers/web/logs?lines=5").await;
    assert_eq!((status, &logs["text"]), (200, &Value::from("hello\n")));
    let (_, more) = scene
        .get(&format!("/v1/workers/web/logs?after={}", logs["offset"]))
        .await;
    assert_eq!(more["text"], "");
    let (status, stopped) = scene.ask("POST", "/v1/workers/web/stop", "localhost").await;
    assert_eq!(status, 200, "{stopped}");
    scene.until("web", "stopped").await;
    scene.ask("POST", "/v1/workers/web/start", "localhost").await;
    let again = scene.until("web", "running").await;
    assert_ne!(again["pid"], web["pid"]);
    let (status, explain) = scene.get("/v1/workers/web/explain").await;
    assert_eq!((status, &explain["goal"]), (200, &Value::from("running")));
    assert_eq!(scene.get("/healthz").await.0, 200);
    assert_eq!(scene.get("/readyz").await.0, 200);
    let (_, page) = scene.get("/metrics").await;
    let page = page.as_str().expect("the metrics are text");
    assert!(page.contains("\nsprag_supervision_observation_age_seconds{supervisor=\"/\",child=\"web\"} "));
    assert!(page.contains("\n# HELP sprag_supervision_passes ") && page.ends_with("# EOF\n"));
    scene.workers.handle.shut_down().await;
    assert_eq!(scene.ticking.await.unwrap(), ShutdownOutcome::Clean);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_deltas_gets_everything_and_then_what_changes() {
    let scene = Scene::set().await;
    scene.until("web", "running").await;
    let (status, all) = scene.get("/v1/workers/deltas").await;
    assert_eq!(status, 200);
    assert_eq!(all["everything"].as_array().map(Vec::len), Some(2), "{all}");
    scene.ask("POST", "/v1/workers/web/stop", "localhost").await;
    scene.until("web", "stopped").await;
    let cursor = all["cursor"].as_str().unwrap();
    let (_, page) = scene.get(&format!("/v1/workers/deltas?after={cursor}")).await;
    let deltas = page["deltas"].as_array().unwrap();
    assert!(deltas.iter().any(|delta| delta["worker"] == "web"), "{page}");
    let (status, refused) = scene.get("/v1/workers/deltas?after=nonsense").await;
    assert_eq!((status, &refused["code"]), (400, &Value::from("query-invalid")));
    scene.workers.handle.shut_down().await;
    scene.ticking.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_is_refused_with_its_code() {
    let mut scene = Scene::set().await;
    for (method, path, host, code) in [
        ("GET", "/v1/workers/nobody/explain", "localhost", "worker-unknown"),
        ("GET", "/v1/workers/nobody/logs", "localhost", "worker-unknown"),
        ("POST", "/v1/workers/no%2Fbody/restart", "localhost", "worker-unknown"),
        ("GET", "/v1/workers", "evil.example", "host-refused"),
        ("GET", "/v1/executions", "localhost", "route-unknown"),
    ] {
        let (_, problem) = scene.ask(method, path, host).await;
        assert_eq!(problem["code"], code, "{method} {path}: {problem}");
    }
    scene.workers.handle.shut_down().await;
    (&mut scene.ticking).await.unwrap();
    let (status, problem) = scene.get("/v1/workers").await;
    assert_eq!((status, &problem["code"]), (503, &Value::from("supervisor-stopped")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_post_of_supervision_acts_once_under_its_key() {
    let scene = Scene::set().await;
    scene.until("web", "running").await;
    let posts = table().into_iter().filter(|route| {
        let is_post = route.operations.iter().any(|(method, _)| *method == "post");
        is_post && route.path.starts_with("/v1/workers")
    });
    let posts: Vec<String> = posts.map(|route| route.path.replace("{path}", "web")).collect();
    assert_eq!(posts.len(), 5, "{posts:?}");
    // Nothing is in progress that could be cancelled: that is said, and nothing is kept of it.
    let (idle, posts): (Vec<String>, Vec<String>) = posts.into_iter().partition(|path| path.ends_with("/cancel"));
    for path in idle {
        let (status, _, problem) = scene.once(&path, "key-0").await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &Value::from("operation-refused")),
            "{problem}"
        );
    }
    for path in &posts {
        let first = scene.once(path, "key-1").await;
        assert_eq!((first.0, first.1), (200, false), "{path}: {first:?}");
        let second = scene.once(path, "key-1").await;
        assert_eq!((second.0, second.1, &second.2), (200, true, &first.2), "{path}");
        let invalid = scene.once(path, "not visible").await;
        assert_eq!(invalid.2["code"], "idempotency-key-invalid", "{path}: {invalid:?}");
    }
    // What came last was a restart, and it happened once.
    let (_, _, shown) = scene.once("/v1/workers/web/start", "key-2").await;
    assert_eq!(shown["restarts"], 1, "{shown}");
    scene.workers.handle.shut_down().await;
    scene.ticking.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_valid_is_refused_with_what_is_wrong() {
    let scene = Scene::set().await;
    let (status, reloaded) = scene.ask("POST", "/v1/workers/reload", "localhost").await;
    assert_eq!((status, &reloaded["unchanged"]), (200, &Value::from(2)));
    let (status, problem) = scene.ask("POST", "/v1/workers/reload", "localhost").await;
    assert_eq!((status, &problem["code"]), (422, &Value::from("services-invalid")));
    assert!(!problem["errors"].as_array().unwrap().is_empty(), "{problem}");
    scene.workers.handle.shut_down().await;
    scene.ticking.await.unwrap();
}
