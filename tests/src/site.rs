//! A small HTTP server whose answers the test itself makes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A running server; it takes no more connections once it is dropped.
pub struct Site {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Visit>>>,
    over: Arc<AtomicBool>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is answered.
    Say {
        /// The status.
        status: u16,
        /// Headers besides the usual ones.
        headers: Vec<(String, String)>,
        /// The body, as JSON.
        body: String,
    },
    /// It is answered with a body that breaks off.
    Cut,
    /// The connection is closed without a word.
    HangUp,
    /// Nothing is ever said.
    Silence,
}

impl Visit {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The whole request as text.
    pub fn whole(&self) -> String {
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let headers = lines.collect::<Vec<_>>().join("\n");
        format!("{} {}\n{headers}\n\n{}", self.method, self.path, self.text())
    }
}

impl Reply {
    /// JSON with a status.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::Say {
            status,
            headers: Vec::new(),
            body: body.to_string(),
        }
    }
}

impl Site {
    /// Starts a server on loopback, on a port that the system likes.
    pub fn start(answer: impl Fn(&Visit) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
        let address = listener
            .local_addr()
            .unwrap_or_else(|error| panic!("no address: {error}"));
        let seen: Arc<Mutex<Vec<Visit>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let (kept, ended) = (Arc::clone(&seen), Arc::clone(&over));
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, answer.as_ref()));
            }
        });
        Self { address, seen, over }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far, in order.
    pub fn visits(&self) -> Vec<Visit> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Whoever waits for a connection gets one, and sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Visit>>, answer: &dyn Fn(&Visit) -> Reply) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let visit = read(&mut reader)?;
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(visit.clone());
        match answer(&visit) {
            Reply::HangUp => return None,
            Reply::Cut => {
                let begun =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"taken\": ";
                reader.get_mut().write_all(begun.as_bytes()).ok()?;
                return None;
            }
            // Until the other side goes.
            Reply::Silence => drop(reader.read_to_end(&mut Vec::new())),
            Reply::Say { status, headers, body } => {
                let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
                let more = lines.collect::<Vec<_>>().concat();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n"
                );
                reader.get_mut().write_all(head.as_bytes()).ok()?;
                reader.get_mut().write_all(body.as_bytes()).ok()?;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Visit> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Visit {
        method,
        path,
        headers,
        body,
    })
}
