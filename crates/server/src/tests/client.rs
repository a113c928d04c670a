//! A client that sends exactly what it is told, malformed or not. What comes back must be as the OpenAPI document says.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::contract;

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .next()
    }

    /// The body, which must be JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(super) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// The body of a refusal with this code, after a look at what every problem has.
    #[track_caller]
    pub(super) fn problem(&self, code: &str) -> Value {
        let body = self.json();
        assert_eq!(body["code"], code, "{self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        assert_eq!(body["status"], self.status, "{self:?}");
        assert_eq!(body["type"], format!("/errors/{code}"), "{self:?}");
        assert_eq!(body["retryable"], matches!(self.status, 408 | 429 | 503), "{self:?}");
        for (field, is_right) in [
            ("title", body["title"].as_str().is_some_and(|title| !title.is_empty())),
            (
                "detail",
                body["detail"].as_str().is_some_and(|detail| !detail.is_empty()),
            ),
            ("errors", body["errors"].is_array()),
        ] {
            assert!(is_right, "{field} of {self:?}");
        }
        assert!(self.header("access-control-allow-origin").is_none(), "{self:?}");
        body
    }
}

/// A request in its text.
pub(super) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if !body.is_empty() {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// A connection that is kept for many requests.
pub(super) struct Kept {
    stream: BufReader<TcpStream>,
}

impl Kept {
    pub(super) async fn open(address: SocketAddr) -> Self {
        let stream = BufReader::new(TcpStream::connect(address).await.unwrap());
        Self { stream }
    }

    /// Sends a request and reads its answer, which says how long it is.
    pub(super) async fn send(&mut self, request: &[u8]) -> Reply {
        self.stream.get_mut().write_all(request).await.unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).await.unwrap();
            assert!(read > 0, "the connection ended: {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply {
            status,
            head: head.trim_end().to_owned(),
            body: String::new(),
        };
        let length: usize = reply.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        reply.body = String::from_utf8(body).unwrap();
        contract::check(request, &reply);
        reply
    }
}

/// Sends bytes and reads what comes back until the connection ends.
pub(super) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    read(&mut stream, bytes).await
}

/// Reads the answer to a request until the connection ends, and holds it against the OpenAPI document.
pub(super) async fn read(stream: &mut TcpStream, request: &[u8]) -> Reply {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let reply = Reply {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    contract::check(request, &reply);
    reply
}
