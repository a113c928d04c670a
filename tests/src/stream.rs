//! A reader of live streams, as fast or as slow as a test wants.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A hang guard: a stream says something every 15 s.
const TIMEOUT: Duration = Duration::from_mins(1);

/// One event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// What kind.
    pub name: String,
    /// Its place, if it has one.
    pub id: Option<u64>,
    /// What it says.
    pub data: Value,
}

/// An open stream. It is asked for in HTTP/1.0, so that the events come as they are.
pub struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Asks for a stream, after the event with that id. Nothing is read yet.
    pub fn open(address: SocketAddr, path: &str, last: Option<u64>) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let last = last.map_or(String::new(), |last| format!("last-event-id: {last}\r\n"));
        write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n{last}\r\n")?;
        Ok(Self(BufReader::new(stream)))
    }
}

impl Iterator for Stream {
    type Item = Event;

    /// The next event; none at the end, whether the server closed the stream or broke off.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap_or_default(),
                None if line.trim_end().is_empty() && !event.name.is_empty() => return Some(event),
                _ => {}
            }
        }
    }
}
