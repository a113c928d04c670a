//! The effect ledger: a process of its own that writes down every effect that reaches it, durably, before it answers.
//!
//! `effect-ledger FILE` prints the address it listens on and serves until it is killed. Each request becomes one line
//! of JSON: method, path, idempotency key, body. The path may ask for trouble: `/hang-up` closes the connection after
//! the effect is written down, `/fail` answers 500.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// No request of a test is larger.
const BODY_BYTES_MAX: usize = 1 << 20;

fn main() -> std::io::Result<()> {
    let path = std::env::args()
        .nth(1)
        .ok_or_else(|| std::io::Error::other("usage: effect-ledger FILE"))?;
    let file = Arc::new(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let (stream, file) = (stream?, Arc::clone(&file));
        std::thread::spawn(move || {
            // A caller that was killed leaves its connection broken: nothing to do about it.
            let _ = serve(&stream, &file);
        });
    }
    Ok(())
}

fn serve(stream: &TcpStream, file: &Mutex<File>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read_request(&mut reader)? {
        record(&request, file)?;
        let mut stream = stream;
        match request.path.as_str() {
            "/hang-up" => return Ok(()),
            "/fail" => stream.write_all(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n")?,
            _ => {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")?;
            }
        }
    }
    Ok(())
}

/// Written and flushed before the answer: what the caller hears of has happened.
fn record(request: &Request, file: &Mutex<File>) -> std::io::Result<()> {
    let line = serde_json::json!({
        "method": request.method,
        "path": request.path,
        "key": request.key,
        "body": String::from_utf8_lossy(&request.body),
    });
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

struct Request {
    method: String,
    path: String,
    key: Option<String>,
    body: Vec<u8>,
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.split_whitespace();
    let method = parts.next().unwrap_or_default().to_owned();
    let path = parts.next().unwrap_or_default().to_owned();
    let (mut key, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0).min(BODY_BYTES_MAX),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request {
        method,
        path,
        key,
        body,
    }))
}
