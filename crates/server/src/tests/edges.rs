//! The transport: bodies that do not come whole, panics, the log, the end.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::json;
use sprag_agent::durable::Loads;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tracing::field::{Field, Visit};

use super::client::{exchange, read, request};
use super::world::{ORDER, World};
use crate::access::guard::Hosts;
use crate::app::{App, Settings};
use crate::routes;

const HEAD: &str =
    "POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";

#[tokio::test]
async fn a_body_that_ends_early_is_told_so() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let half = format!("{HEAD}Content-Length: 100\r\n\r\n{{\"machine\"");
    stream.write_all(half.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    read(&mut stream, half.as_bytes()).await.problem("body-incomplete");
    let bad_chunk = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n");
    exchange(world.address, bad_chunk.as_bytes())
        .await
        .problem("body-incomplete");
}

#[tokio::test]
async fn a_body_that_never_comes_is_given_up() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream
        .write_all(format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes())
        .await
        .unwrap();
    // With nothing else to do, simulated time runs to the next timer at once.
    tokio::time::pause();
    let reply = read(&mut stream, HEAD.as_bytes()).await;
    reply.problem("body-timeout");
    assert_eq!(reply.status, 408);
}

#[tokio::test]
async fn an_oversized_body_is_refused_and_its_sender_hears_it() {
    let world = World::start().await;
    let large = vec![b' '; 12 * 1024 * 1024];
    let declared = world
        .send(
            "POST",
            "/v1/executions",
            &[("Content-Type", "application/json")],
            &large,
        )
        .await;
    declared.problem("body-too-large");
    let mut chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in large.chunks(256 * 1024) {
        chunked.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        chunked.extend(chunk);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    exchange(world.address, &chunked).await.problem("body-too-large");
    let exact = format!(
        "{{\"machine\": \"m\", \"variables\": {{\"a\": \"{}\"}}}}",
        "x".repeat(1024 * 1024 - 40)
    );
    assert_eq!(exact.len(), 1024 * 1024);
    let taken = world
        .send(
            "POST",
            "/v1/executions",
            &[("Content-Type", "application/json")],
            exact.as_bytes(),
        )
        .await;
    taken.problem("machine-unknown");
}

#[tokio::test]
async fn a_client_that_asks_first_need_not_send_what_is_too_large() {
    let world = World::start().await;
    let asked = format!("{HEAD}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
    let reply = exchange(world.address, asked.as_bytes()).await;
    reply.problem("body-too-large");
    assert!(reply.head.starts_with("HTTP/1.1 413"), "{reply:?}");
}

#[tokio::test]
async fn a_known_path_says_which_methods_it_takes() {
    let world = World::start().await;
    let reply = world.send("DELETE", "/v1/executions", &[], b"").await;
    reply.problem("method-not-allowed");
    assert_eq!(reply.header("allow"), Some("GET,HEAD,POST"));
    world
        .send("OPTIONS", "/v1/executions", &[], b"")
        .await
        .problem("method-not-allowed");
    world
        .send("BREW", "/v1/system", &[], b"")
        .await
        .problem("method-not-allowed");
    let head = world.send("HEAD", "/v1/system", &[], b"").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn requests_share_a_connection() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream
        .write_all(&[first.as_slice(), &request("GET", "/healthz", &[], b"")].concat())
        .await
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{text}");
}

/// A server whose one route panics.
async fn panicking(world: &World) -> std::net::SocketAddr {
    async fn boom() -> &'static str {
        panic!("a secret thought")
    }
    let settings = Settings {
        hosts: Hosts::default(),
        body_bytes: 1_000,
        store: String::new(),
        is_loopback: true,
        streams: 1,
        auth: crate::Auth::default(),
        is_demo: false,
        oidc: None,
        asks_certificates: false,
        nodes: None,
        loads: Loads::default(),
    };
    let (_, closing) = watch::channel(false);
    let app = App::new(world.handle.clone(), settings, closing);
    let router = routes::around(Router::new().route("/boom", get(boom)), app);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn a_panic_is_a_problem_that_tells_nothing() {
    let world = World::start().await;
    let address = panicking(&world).await;
    let reply = exchange(address, &request("GET", "/boom", &[], b"")).await;
    reply.problem("internal-error");
    assert!(!reply.body.contains("secret thought"), "{reply:?}");
    exchange(address, &request("GET", "/nothing", &[], b""))
        .await
        .problem("route-unknown");
}

/// Keeps the log as lines.
struct Log(Arc<Mutex<String>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("sprag_server")
    }

    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = self.0.lock().unwrap();
        let _ = write!(text, "{} ", event.metadata().level());
        event.record(&mut Line(&mut text));
        text.push('\n');
    }

    fn enter(&self, _span: &tracing::span::Id) {}

    fn exit(&self, _span: &tracing::span::Id) {}
}

#[tokio::test]
async fn every_request_leaves_a_line_with_its_route_and_status() {
    let text = Arc::new(Mutex::new(String::new()));
    // With one subscriber alone, a place in the code is judged by whichever thread comes by first, and other tests'
    // threads have none. With two, every subscriber is asked.
    let _other = tracing::Dispatch::new(Log(Arc::default()));
    let _logged = tracing::subscriber::set_default(Log(Arc::clone(&text)));
    let world = World::start().await;
    world
        .get("/v1/executions/exe_00000000000000000000000000?wait=1ms")
        .await
        .problem("execution-unknown");
    world.get("/nothing").await.problem("route-unknown");
    exchange(panicking(&world).await, &request("GET", "/boom", &[], b""))
        .await
        .problem("internal-error");
    let text = text.lock().unwrap().clone();
    for line in [
        "DEBUG message=request answered method=GET route=\"/v1/executions/{id}\" status=404 ms=",
        "DEBUG message=request answered method=GET route=\"none\" status=404 ms=",
        "ERROR message=handler panicked route=\"/boom\" panic=\"a secret thought\"",
        "WARN message=request failed method=GET route=\"/boom\" status=500 ms=",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}\nin\n{text}");
    }
    assert!(!text.contains("exe_0000"), "paths hold what people sent");
}

#[tokio::test]
async fn nobody_waits_longer_than_a_minute() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let shown = world.get(&format!("/v1/executions/{id}?wait=1h")).await.expect(200);
    assert_eq!(shown["status"], "running");
    let waited = began.elapsed();
    assert!(
        (Duration::from_mins(1)..Duration::from_mins(2)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test]
async fn the_end_does_not_wait_for_idle_connections() {
    let world = World::start().await;
    let mut idle = TcpStream::connect(world.address).await.unwrap();
    world.get("/healthz").await.expect(200);
    let address = world.address;
    tokio::time::timeout(Duration::from_secs(4), world.stop_server())
        .await
        .expect("idle connections end at once");
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap_or(0), 0, "it was closed");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn the_end_lets_a_waiting_request_answer() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let mut waiting = TcpStream::connect(world.address).await.unwrap();
    let path = format!("/v1/executions/{id}?wait=60s");
    let asked = request("GET", &path, &[], b"");
    waiting.write_all(&asked).await.unwrap();
    // An answer to a later request shows that the earlier one has arrived.
    world.get("/healthz").await.expect(200);
    tokio::time::timeout(Duration::from_secs(20), world.stop_server())
        .await
        .expect("it does not wait for a minute");
    assert_eq!(read(&mut waiting, &asked).await.expect(200)["status"], "running");
}

#[tokio::test]
async fn the_end_cuts_a_request_that_never_ends() {
    let world = World::start().await;
    let mut stuck = TcpStream::connect(world.address).await.unwrap();
    stuck
        .write_all(format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes())
        .await
        .unwrap();
    world.get("/healthz").await.expect(200);
    // Simulated time: the grace passes as soon as there is nothing else to do.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    world.stop_server().await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(began.elapsed() >= Duration::from_secs(5), "it had its grace");
}

#[tokio::test]
async fn an_engine_that_ended_is_said_to_be_gone() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let address = world.stop_engine().await;
    let start = json!({"machine": "order", "variables": {"amount": 1}}).to_string();
    let start = request(
        "POST",
        "/v1/executions",
        &[("Content-Type", "application/json")],
        start.as_bytes(),
    );
    exchange(address, &start).await.problem("shutting-down");
    exchange(address, &request("GET", "/readyz", &[], b""))
        .await
        .problem("not-ready");
    exchange(address, &request("GET", "/healthz", &[], b""))
        .await
        .expect(200);
    exchange(address, &request("GET", "/v1/machines/order", &[], b""))
        .await
        .expect(200);
}
