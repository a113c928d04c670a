//! No web page can drive a local server.

use std::net::{Ipv4Addr, SocketAddr};

use super::client::exchange;
use super::world::{ORDER, Plan, World};
use crate::{Auth, Error, Mode, Options, Server};

#[tokio::test]
async fn requests_to_foreign_hosts_are_refused_everywhere() {
    let world = World::start().await;
    let hosts = [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "127.0.0.1.nip.io:7400",
        "user@localhost",
    ];
    for host in hosts {
        for path in ["/v1/system", "/healthz", "/nothing", "/errors/key-in-use"] {
            let reply = world.send("GET", path, &[("Host", host)], b"").await;
            reply.problem("host-refused");
            assert_eq!(reply.status, 421);
        }
    }
    for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:7400"] {
        world
            .send("GET", "/v1/system", &[("Host", host)], b"")
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn a_request_without_one_certain_host_is_refused() {
    let world = World::start().await;
    let table: [&[u8]; 4] = [
        b"GET /v1/system HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /v1/system HTTP/1.0\r\n\r\n",
        b"GET /v1/system HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/v1/system HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n\r\n",
    ];
    for bytes in table {
        exchange(world.address, bytes).await.problem("host-refused");
    }
}

#[tokio::test]
async fn configured_names_are_hosts_too() {
    let plan = Plan::default();
    let options = Options {
        hosts: vec!["sprag.example.com".to_owned()],
        ..plan.options
    };
    let world = World::with(Plan { options, ..plan }).await;
    world
        .send("GET", "/v1/system", &[("Host", "Sprag.Example.com:443")], b"")
        .await
        .expect(200);
    world
        .send("GET", "/v1/system", &[("Host", "other.example.com")], b"")
        .await
        .problem("host-refused");
    let own = [("Host", "sprag.example.com"), ("Origin", "https://sprag.example.com")];
    world.send("GET", "/v1/system", &own, b"").await.expect(200);
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_and_get_no_cors_headers() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let body = br#"{"machine": "order", "variables": {"amount": 1}}"#;
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:3000",
        "http://127.0.0.1",
        "file://",
        "localhost",
    ] {
        let headers = [("Origin", origin), ("Content-Type", "application/json")];
        world
            .send("POST", "/v1/executions", &headers, body)
            .await
            .problem("origin-refused");
        let preflight = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        world
            .send("OPTIONS", "/v1/executions", &preflight, b"")
            .await
            .problem("origin-refused");
    }
    let twice = [("Origin", "http://localhost"), ("Origin", "https://evil.example")];
    world
        .send("GET", "/v1/system", &twice, b"")
        .await
        .problem("origin-refused");
    assert_eq!(
        world.get("/v1/executions").await.expect(200)["data"],
        serde_json::json!([]),
        "nothing was started"
    );
    let own = world
        .send("GET", "/v1/system", &[("Origin", "http://localhost")], b"")
        .await;
    own.expect(200);
    assert!(own.header("access-control-allow-origin").is_none());
    assert_eq!(own.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(own.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn listening_off_loopback_is_refused() {
    let world = World::start().await;
    for listen in [
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::from(([10, 0, 0, 1], 7400)),
    ] {
        let bound = Server::bind(
            Options {
                listen,
                ..Options::default()
            },
            world.handle.clone(),
        )
        .await;
        let error = bound.err().unwrap();
        assert!(matches!(error, Error::NotLoopback { .. }), "{error}");
        assert!(error.to_string().contains("authentication"), "{error}");
        let auth = Auth {
            mode: Mode::Token,
            ..Auth::default()
        };
        let asking = Options {
            listen,
            auth,
            ..Options::default()
        };
        let error = Server::bind(asking, world.handle.clone()).await.err().unwrap();
        assert!(matches!(error, Error::PlainText { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_address_in_use_and_a_name_that_is_none_are_refused() {
    let world = World::start().await;
    let taken = Options {
        listen: world.address,
        ..Options::default()
    };
    let error = Server::bind(taken, world.handle.clone()).await.err().unwrap();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    let named = Options {
        hosts: vec!["http://a".to_owned()],
        ..Plan::default().options
    };
    let error = Server::bind(named, world.handle.clone()).await.err().unwrap();
    assert!(matches!(error, Error::HostName { .. }), "{error}");
}
