//! Live streams of a server: events one after the other, for as long as the connection holds.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::{ANSWER, ANSWER_BYTES_MAX, Client, problem, read};
use crate::failure::Failure;

/// A stream says something at least every 15 s; one that is silent for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// One event of a stream.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Event {
    /// What kind of event.
    pub(crate) name: String,
    /// Its place, if it has one to come back to.
    pub(crate) id: Option<u64>,
    /// What it says.
    pub(crate) data: Value,
}

/// Why there is no stream.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The server is not there, or says that there may be one later.
    Later(Failure),
    /// The server refuses it.
    Refused(Failure),
}

impl NotOpened {
    /// The failure, whichever it is.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Later(failure) | Self::Refused(failure) => failure,
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    lines: Lines,
}

impl Client {
    /// Opens the stream under `/v1/` and these segments, after the event with that id.
    pub(crate) async fn events(&self, segments: &[&str], last: Option<u64>) -> Result<Events, NotOpened> {
        let url = self.request(Method::GET, segments).url;
        let mut request = self.http.get(url).header(ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let response = match timeout(ANSWER, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(NotOpened::Later(problem::unreachable(self, &error))),
            Err(_) => {
                let failure = Failure::new(format!(
                    "{} did not answer in time; check its log, then run the command again",
                    self.base
                ))
                .code("server-timeout");
                return Err(NotOpened::Later(failure));
            }
        };
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(Events {
                response,
                lines: Lines::default(),
            });
        }
        let body = read(response, self).await.map_err(NotOpened::Later)?;
        let document = serde_json::from_slice(&body).unwrap_or_default();
        let failure = problem::refusal(&self.base, status.as_u16(), &document);
        Err(if status == StatusCode::SERVICE_UNAVAILABLE {
            NotOpened::Later(failure)
        } else {
            NotOpened::Refused(failure)
        })
    }
}

impl Events {
    /// The next event; none when the connection is over, for whatever reason.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.lines.event() {
                return Some(event);
            }
            let chunk = timeout(SILENCE_MAX, self.response.chunk()).await.ok()?.ok()??;
            if self.lines.rest.len() + chunk.len() > ANSWER_BYTES_MAX {
                return None;
            }
            self.lines.rest.extend_from_slice(&chunk);
        }
    }
}

/// Bytes that become events.
#[derive(Debug, Default)]
struct Lines {
    rest: Vec<u8>,
    event: Event,
}

impl Lines {
    /// The next event that is whole.
    fn event(&mut self) -> Option<Event> {
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if !event.name.is_empty() {
                    return Some(event);
                }
            }
            self.field(line);
        }
        None
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = value.parse().ok(),
            // A server of ours writes every document on one line.
            "data" => self.event.data = serde_json::from_str(value).unwrap_or_default(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_come_out_whole_however_the_bytes_come_in() {
        let text = "retry: 1000\n\n: alive\n\nid: 7\nevent: history\ndata: {\"a\":\"b: c\"}\n\nevent: closed\r\ndata: {}\r\n\r\n";
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for byte in text.bytes() {
            lines.rest.push(byte);
            events.extend(lines.event());
        }
        let expected = [("history", Some(7), json!({"a": "b: c"})), ("closed", None, json!({}))];
        assert_eq!(
            events,
            expected.map(|(name, id, data)| Event {
                name: name.to_owned(),
                id,
                data
            })
        );
    }
}
