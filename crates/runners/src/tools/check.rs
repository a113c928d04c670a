//! `http_check` and `tcp_check`: is it there? Both go through the outbound guard.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use tokio::net::TcpStream;
use tokio::time::timeout;

use sprag_core::document::Stage;

use crate::http::outbound::Guard;
use crate::http::{Client, Request};
use crate::registry::config::{self, is_within, refused};
use crate::webhook::{destination, network, read_headers, read_method, read_url, trace};

const HTTP_KEYS: [&str; 4] = ["url", "method", "headers", "expectedStatusCodes"];
const TCP_KEYS: [&str; 2] = ["host", "port"];

/// Runs `http_check`: succeeds on an expected status.
pub struct HttpCheck {
    client: Client,
}

impl HttpCheck {
    /// A runner that calls through `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    async fn check(&self, attempt: Attempt<'_>) -> Result<Value, Box<Outcome>> {
        let (mut request, expected) = read_http(attempt.config, Stage::Rendered, attempt.timeout)
            .map_err(|problems| Box::new(refused(&problems)))?;
        trace(&mut request.headers, &attempt)?;
        let reply = self.client.send(request).await?;
        Ok(reply.judge(expected.as_deref())?.result())
    }
}

impl Runner for HttpCheck {
    fn types(&self) -> &[&str] {
        &["http_check"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        read_http(config, Stage::Written, Duration::ZERO)
            .err()
            .unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        is_within(pointer, &["/headers"])
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.client.warnings(config, &["/url"])
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        config
            .get("url")
            .and_then(Value::as_str)
            .and_then(network)
            .into_iter()
            .collect()
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        destination(config.get("url")?.as_str()?)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.check(attempt).await.map_or_else(|failed| *failed, Outcome::done) })
    }
}

fn read_http(
    config: &Value,
    stage: Stage,
    timeout: Duration,
) -> Result<(Request, Option<Vec<u16>>), Vec<ConfigProblem>> {
    config::read(config, stage, &HTTP_KEYS, |reader, object| {
        let url = read_url(reader, object);
        let method = read_method(reader, object, &Method::GET);
        let headers = read_headers(reader, object);
        let expected = config::codes(reader, object, "expectedStatusCodes", 100..=599);
        let request = Request {
            method: method?,
            url: url?,
            headers: headers?,
            body: None,
            timeout,
        };
        Some((request, expected))
    })
}

/// Runs `tcp_check`: succeeds when a connection opens.
pub struct TcpCheck {
    guard: Guard,
}

impl TcpCheck {
    /// A runner that connects where `guard` lets it.
    pub fn new(guard: Guard) -> Self {
        Self { guard }
    }

    async fn check(&self, attempt: Attempt<'_>) -> Outcome {
        let (host, port) = match read_tcp(attempt.config, Stage::Rendered) {
            Ok(address) => address,
            Err(problems) => return refused(&problems),
        };
        let connected = async {
            let addresses = self
                .guard
                .check_tcp(&host, port)
                .await
                .map_err(|error| error.outcome())?;
            connect(&host, port, &addresses).await
        };
        match timeout(attempt.timeout, connected).await {
            Ok(Ok(address)) => Outcome::done(json!({"host": host, "port": port, "address": address.ip().to_string()})),
            Ok(Err(failed)) => failed,
            // Nothing but a handshake was sent, so there is nothing to be unsure of.
            Err(_) => not_done(
                kind::TIMEOUT,
                format!("no connection to `{host}` port {port} in time"),
                &host,
                port,
            ),
        }
    }
}

async fn connect(host: &str, port: u16, addresses: &[SocketAddr]) -> Result<SocketAddr, Outcome> {
    let mut reason = String::new();
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(_) => return Ok(*address),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(not_done(
        kind::NETWORK_ERROR,
        format!("no connection to `{host}` port {port}: {reason}"),
        host,
        port,
    ))
}

fn not_done(kind: &str, message: String, host: &str, port: u16) -> Outcome {
    let details = json!({"host": host, "port": port});
    Outcome::NotDone(Failure::new(ActionError::new(kind, message).with_details(details)))
}

impl Runner for TcpCheck {
    fn types(&self) -> &[&str] {
        &["tcp_check"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        read_tcp(config, Stage::Written).err().unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, _pointer: &str) -> bool {
        false
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.guard.warning(config, "/host").into_iter().collect()
    }

    fn permissions(&self, kind: &str, config: &Value) -> Vec<Permission> {
        let object = self.destination(kind, config);
        object
            .map(|object| Permission {
                scope: "network".to_owned(),
                object,
            })
            .into_iter()
            .collect()
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        let host = config.get("host")?.as_str()?;
        Some(format!("{host}:{}", config.get("port").and_then(Value::as_u64)?))
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(self.check(attempt))
    }
}

fn read_tcp(config: &Value, stage: Stage) -> Result<(String, u16), Vec<ConfigProblem>> {
    config::read(config, stage, &TCP_KEYS, |reader, object| {
        let host = reader.required_text(object, "host", "`db.example.com`");
        reader.require(object, "port", "`5432`");
        let port = reader.whole(object, "port", 1, u64::from(u16::MAX));
        let port = port.and_then(|port| u16::try_from(port).ok());
        host.map(str::to_owned).zip(port)
    })
}
