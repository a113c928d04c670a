//! A small HTTP client that keeps its connection and says plainly when the other side is gone.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;

/// A hang guard, not a measure.
const TIMEOUT: Duration = Duration::from_mins(1);

/// One client of a server.
pub struct Client {
    address: SocketAddr,
    patience: Duration,
    tls: Option<Arc<ClientConfig>>,
    token: Option<String>,
    connection: Option<BufReader<Wire>>,
}

/// A connection, encrypted or not.
enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// What the server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, parsed; a text when it is no JSON, null when it is empty.
    pub body: Value,
    /// Whether it says that it was given before, to the same idempotency key.
    pub replayed: bool,
}

impl Client {
    /// A client of the server at `address`; it connects when it has something to say.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            patience: TIMEOUT,
            tls: None,
            token: None,
            connection: None,
        }
    }

    /// The same, encrypted.
    #[must_use]
    pub fn secured(self, tls: Arc<ClientConfig>) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// The same, with a token in every request.
    #[must_use]
    pub fn showing(self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self
        }
    }

    /// Sends a GET with more headers.
    pub fn get_with(&mut self, path: &str, headers: &[(&str, &str)]) -> std::io::Result<Answer> {
        self.exchange("GET", path, None, &lines(headers)?)
    }

    /// The same, with less patience: what is not answered by then counts as unknown.
    pub fn within(address: SocketAddr, patience: Duration) -> Self {
        Self {
            patience,
            ..Self::new(address)
        }
    }

    /// Sends a GET.
    pub fn get(&mut self, path: &str) -> std::io::Result<Answer> {
        self.exchange("GET", path, None, "")
    }

    /// Sends a request of any method, with a JSON body or none.
    pub fn request(&mut self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Answer> {
        let text = body.map(Value::to_string);
        let body = text.as_deref().map(|text| ("application/json", text));
        self.exchange(method, path, body, "")
    }

    /// Sends a GET and reads the body without looking at it: its status, and how many bytes it has.
    pub fn size(&mut self, path: &str) -> std::io::Result<(u16, usize)> {
        let mut reader = self.send("GET", path, None, "")?;
        let Head { status, length, .. } = read_head(&mut reader)?;
        let read = std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        if read < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.connection = Some(reader);
        Ok((status, usize::try_from(read).unwrap_or(usize::MAX)))
    }

    /// Sends a POST with a JSON body.
    pub fn post(&mut self, path: &str, body: &Value) -> std::io::Result<Answer> {
        self.exchange("POST", path, Some(("application/json", &body.to_string())), "")
    }

    /// Sends a POST with a JSON body that acts once under the key.
    pub fn post_once(&mut self, path: &str, body: &Value, key: &str) -> std::io::Result<Answer> {
        let header = format!("idempotency-key: {key}\r\n");
        self.exchange("POST", path, Some(("application/json", &body.to_string())), &header)
    }

    /// Sends a POST with JSON as it is written, and more headers.
    pub fn post_with(&mut self, path: &str, body: &str, headers: &[(&str, &str)]) -> std::io::Result<Answer> {
        self.exchange("POST", path, Some(("application/json", body)), &lines(headers)?)
    }

    /// Sends a POST with a body of another type.
    pub fn post_text(&mut self, path: &str, content_type: &str, body: &str) -> std::io::Result<Answer> {
        self.exchange("POST", path, Some((content_type, body)), "")
    }

    fn exchange(
        &mut self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
        headers: &str,
    ) -> std::io::Result<Answer> {
        let answer = self.try_exchange(method, path, body, headers);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    fn try_exchange(
        &mut self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
        headers: &str,
    ) -> std::io::Result<Answer> {
        let mut reader = self.send(method, path, body, headers)?;
        let answer = read_answer(&mut reader)?;
        self.connection = Some(reader);
        Ok(answer)
    }

    /// Sends a request; the connection is kept only once its answer is read.
    fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
        headers: &str,
    ) -> std::io::Result<BufReader<Wire>> {
        let address = self.address;
        let mut reader = self.connection.take().map_or_else(|| self.connect(), Ok)?;
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n{headers}");
        if let Some(token) = &self.token {
            write!(request, "authorization: Bearer {token}\r\n").map_err(std::io::Error::other)?;
        }
        let mut text = "";
        if let Some((content_type, body)) = body {
            text = body;
            let length = body.len();
            write!(request, "content-type: {content_type}\r\ncontent-length: {length}\r\n")
                .map_err(std::io::Error::other)?;
        }
        request.push_str("\r\n");
        request.push_str(text);
        reader.get_mut().write_all(request.as_bytes())?;
        reader.get_mut().flush()?;
        Ok(reader)
    }

    fn connect(&self) -> std::io::Result<BufReader<Wire>> {
        let stream = TcpStream::connect_timeout(&self.address, self.patience)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(BufReader::new(Wire::Plain(stream)));
        };
        let name = ServerName::from(self.address.ip());
        let connection = ClientConnection::new(Arc::clone(tls), name).map_err(std::io::Error::other)?;
        let stream = StreamOwned::new(connection, stream);
        Ok(BufReader::new(Wire::Tls(Box::new(stream))))
    }
}

fn lines(headers: &[(&str, &str)]) -> std::io::Result<String> {
    let mut lines = String::new();
    for (name, value) in headers {
        write!(lines, "{name}: {value}\r\n").map_err(std::io::Error::other)?;
    }
    Ok(lines)
}

/// What comes before a body.
struct Head {
    status: u16,
    length: u64,
    is_json: bool,
    replayed: bool,
}

fn read_head(reader: &mut BufReader<Wire>) -> std::io::Result<Head> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split_whitespace().nth(1).and_then(|text| text.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "no status line"))?;
    let mut head = Head {
        status,
        length: 0,
        is_json: false,
        replayed: false,
    };
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else {
            return Ok(head);
        };
        if name.eq_ignore_ascii_case("content-length") {
            head.length = value.trim().parse().unwrap_or(0);
        }
        head.is_json |= name.eq_ignore_ascii_case("content-type") && value.contains("json");
        head.replayed |= name.eq_ignore_ascii_case("idempotent-replayed");
    }
}

fn read_answer(reader: &mut BufReader<Wire>) -> std::io::Result<Answer> {
    let Head {
        status,
        length,
        is_json,
        replayed,
    } = read_head(reader)?;
    let mut body = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    reader.read_exact(&mut body)?;
    let body = if body.is_empty() {
        Value::Null
    } else if is_json {
        serde_json::from_slice(&body)?
    } else {
        Value::String(String::from_utf8_lossy(&body).into_owned())
    };
    Ok(Answer { status, body, replayed })
}
