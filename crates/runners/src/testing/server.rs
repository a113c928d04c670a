//! A server that reads requests and then replies as scripted, byte for byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one request. The last one is repeated.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes and keeps the connection.
    Send(Vec<u8>),
    /// Sends these bytes one at a time.
    Drip(Vec<u8>),
    /// Sends these bytes and closes.
    Cut(Vec<u8>),
    /// Closes without a word.
    HangUp,
    /// Never answers.
    Silence,
    /// Sends a beginning and then a body without end.
    Endless,
    /// The same, but so slowly that it never gets anywhere.
    Trickle,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Received>,
    sent: usize,
}

/// A running server; it ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

/// A whole reply.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> Act {
    Act::Send(
        format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

impl Server {
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
        };
        let acts: Arc<Mutex<VecDeque<Act>>> = Arc::new(Mutex::new(acts.into_iter().collect()));
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepting.seen.lock().unwrap().connections += 1;
                tokio::spawn(accepting.clone().serve(stream, Arc::clone(&acts)));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.seen.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Bytes of endless bodies that were taken.
    pub(crate) fn sent(&self) -> usize {
        self.seen.lock().unwrap().sent
    }

    async fn serve(self, mut stream: TcpStream, acts: Arc<Mutex<VecDeque<Act>>>) {
        while let Some(request) = read(&mut stream).await {
            self.seen.lock().unwrap().requests.push(request);
            let act = {
                let mut acts = acts.lock().unwrap();
                if acts.len() > 1 {
                    acts.pop_front()
                } else {
                    acts.front().cloned()
                }
            };
            if self.perform(&mut stream, act.unwrap_or(Act::HangUp)).await.is_none() {
                return;
            }
        }
    }

    async fn perform(&self, stream: &mut TcpStream, act: Act) -> Option<()> {
        const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        match act {
            Act::Send(bytes) => stream.write_all(&bytes).await.ok(),
            Act::Drip(bytes) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await.ok()?;
                    stream.flush().await.ok()?;
                    tokio::task::yield_now().await;
                }
                Some(())
            }
            Act::Cut(bytes) => {
                stream.write_all(&bytes).await.ok()?;
                None
            }
            Act::HangUp => None,
            Act::Silence => {
                std::future::pending::<()>().await;
                None
            }
            Act::Endless => {
                stream.write_all(ENDLESS).await.ok()?;
                let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x10000], b"\r\n"].concat();
                loop {
                    stream.write_all(&chunk).await.ok()?;
                    self.seen.lock().unwrap().sent += 0x10000;
                }
            }
            Act::Trickle => {
                stream.write_all(ENDLESS).await.ok()?;
                loop {
                    stream.write_all(b"1\r\nx\r\n").await.ok()?;
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        }
    }
}

/// Reads one request, or finds the connection at its end.
pub(crate) async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").unwrap_or((line, "")))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Received { line, headers, body })
}
