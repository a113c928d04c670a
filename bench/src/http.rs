//! Just enough HTTP/1.1 for a load generator: requests as ready bytes, answers read by their length.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// No answer or request of a bench is larger.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Whoever has not answered by then never will: a peer whose handler died keeps its callers waiting for ever.
const ANSWER_GUARD: Duration = Duration::from_mins(2);

/// A connection that is kept.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
}

/// The start and the body of a request or an answer.
pub(crate) struct Received {
    /// `HTTP/1.1 200 OK`, or `POST / HTTP/1.1`.
    pub(crate) first: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// The status of an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.first.split(' ').nth(1)?.parse().ok()
    }
}

/// A server, with the token that requests to it show.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { address, token: None }
    }
}

/// A request as bytes; no body is no body.
pub(crate) fn request(to: impl Into<Endpoint>, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
    let Endpoint { address, token } = to.into();
    let token = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n{token}");
    match body {
        None => format!("{head}content-length: 0\r\n\r\n"),
        Some(body) => {
            let body = body.to_string();
            let length = body.len();
            format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        }
    }
    .into_bytes()
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        Self::over(stream)
    }

    pub(crate) fn over(stream: TcpStream) -> anyhow::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            line: String::new(),
        })
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Received> {
        self.send(request).await?;
        let answer = tokio::time::timeout(ANSWER_GUARD, self.receive()).await;
        answer
            .context("there was no answer in time")??
            .context("the connection was closed")
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.get_mut().write_all(bytes).await?)
    }

    /// The next request or answer; none when the other side is done.
    pub(crate) async fn receive(&mut self) -> anyhow::Result<Option<Received>> {
        let first = self.read_line().await?.to_owned();
        if first.is_empty() {
            return Ok(None);
        }
        let mut length = 0;
        let mut chunked = false;
        loop {
            let line = self.read_line().await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().context("content-length")?;
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding") && value.contains("chunked");
        }
        let body = if chunked {
            self.read_chunks().await?
        } else {
            self.read_body(length).await?
        };
        Ok(Some(Received { first, body }))
    }

    async fn read_line(&mut self) -> anyhow::Result<&str> {
        self.line.clear();
        self.stream.read_line(&mut self.line).await?;
        Ok(self.line.trim_end())
    }

    async fn read_body(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        ensure!(length <= BODY_BYTES_MAX, "a body of {length} bytes");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    async fn read_chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.read_line().await?;
            let Ok(length) = usize::from_str_radix(line, 16) else {
                bail!("a chunk of length `{line}`")
            };
            body.extend(self.read_body(length).await?);
            self.read_line().await?;
            if length == 0 {
                return Ok(body);
            }
            ensure!(body.len() <= BODY_BYTES_MAX, "a body that does not end");
        }
    }
}

/// One request with a connection of its own, for what is not measured.
pub(crate) fn call(to: impl Into<Endpoint>, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
    let to = to.into();
    let address = to.address;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let request = request(to, method, path, body);
        let answer = Connection::open(address).await?.exchange(&request).await?;
        let text = String::from_utf8_lossy(&answer.body);
        let good = answer.status().is_some_and(|status| (200..300).contains(&status));
        ensure!(good, "{method} {path} was answered `{}`: {text}", answer.first);
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn received(bytes: &'static [u8]) -> Received {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(bytes).await.unwrap();
        });
        let mut connection = Connection::open(address).await.unwrap();
        connection.receive().await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn an_answer_with_a_length_is_read_to_its_end() {
        let answer = received(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok and more").await;
        assert_eq!((answer.status(), answer.body.as_slice()), (Some(201), b"ok".as_slice()));
    }

    #[tokio::test]
    async fn an_answer_in_chunks_is_put_together() {
        let answer =
            received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n").await;
        assert_eq!(answer.body, b"abc");
    }
}
