//! A way to a server that damages the answers that come back.

use std::io::{BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing.
    None,
    /// It breaks off in the middle of its body.
    CutOff,
    /// It ends early, in chunks, as if it were whole.
    EndedEarly,
    /// One bit of its body is another one.
    BitFlipped,
    /// Its length says less than was sent.
    LengthTooSmall,
    /// Its length says more than was sent.
    LengthTooGreat,
    /// Nothing follows its head, whose length is 0.
    Emptied,
    /// It does not say its digest.
    DigestRemoved,
    /// It is another file, with a length and a digest that are right.
    Replaced,
}

/// A running proxy; it takes no more connections once this process ends.
pub struct DamagingProxy {
    address: SocketAddr,
}

impl DamagingProxy {
    /// Starts one that leads to a server.
    pub fn start(to: SocketAddr, damage: Damage) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let client = Arc::new(client);
                let back = Arc::clone(&client);
                std::thread::spawn(move || {
                    let _ = pass_on(&client, to, damage);
                    let _ = back.shutdown(Shutdown::Both);
                });
            }
        });
        Ok(Self { address })
    }

    /// The URL that leads through it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Passes one request on and its answer back.
fn pass_on(mut client: &TcpStream, to: SocketAddr, damage: Damage) -> std::io::Result<()> {
    let (head, body) = message(&mut BufReader::new(client))?;
    let mut server = TcpStream::connect(to)?;
    server.write_all(head.concat().as_bytes())?;
    server.write_all(&body)?;
    let (head, body) = message(&mut BufReader::new(server))?;
    client.write_all(&damaged(head, body, damage))
}

/// The lines of a head, each with its end, and the body that its length announces.
fn message(reader: &mut impl std::io::BufRead) -> std::io::Result<(Vec<String>, Vec<u8>)> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let is_end = line == "\r\n";
        head.push(line);
        if is_end {
            break;
        }
    }
    let length = head.iter().find_map(|line| value(line, "content-length")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}

/// The value of a header, if the line is that one.
fn value<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (found, value) = line.split_once(':')?;
    found.eq_ignore_ascii_case(name).then(|| value.trim())
}

fn damaged(head: Vec<String>, mut body: Vec<u8>, damage: Damage) -> Vec<u8> {
    let (half, whole) = (body.len() / 2, body.len());
    let with_length = |length: usize| with(head.clone(), "content-length", Some(&length.to_string()));
    let head = match damage {
        Damage::None | Damage::CutOff | Damage::BitFlipped => head,
        Damage::EndedEarly => {
            let head = with(head, "content-length", None);
            with(head, "transfer-encoding", Some("chunked"))
        }
        Damage::LengthTooSmall => with_length(whole - 1),
        Damage::LengthTooGreat => with_length(whole + 1),
        Damage::Emptied => with_length(0),
        Damage::DigestRemoved => with(head, sprag_core::integrity::digest::HEADER, None),
        Damage::Replaced => {
            body = b"SQLite format 3\0, or so it says".repeat(64);
            let mut digest = sprag_core::integrity::digest::Digest::default();
            digest.add(&body);
            let head = with(head, "content-length", Some(&body.len().to_string()));
            with(head, sprag_core::integrity::digest::HEADER, Some(&digest.header()))
        }
    };
    match damage {
        Damage::CutOff => body.truncate(half),
        Damage::Emptied => body.clear(),
        Damage::BitFlipped => body[half] ^= 1,
        Damage::EndedEarly => {
            body.truncate(half);
            body = [format!("{half:x}\r\n").as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
        }
        Damage::None | Damage::LengthTooSmall | Damage::LengthTooGreat | Damage::DigestRemoved | Damage::Replaced => {}
    }
    [head.concat().into_bytes(), body].concat()
}

/// The head with another value for a header, or without it.
fn with(mut head: Vec<String>, name: &str, new: Option<&str>) -> Vec<String> {
    head.retain(|line| value(line, name).is_none());
    if let Some(new) = new {
        head.insert(1, format!("{name}: {new}\r\n"));
    }
    head
}
