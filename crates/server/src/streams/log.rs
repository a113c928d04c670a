//! The log of a worker as it is written.
//!
//! The file is the state: each look reads what was written since the last one, up to a bound, so a reader that is slow costs
//! no memory. The id of an event is the offset behind it, so `Last-Event-ID` resumes without a gap.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream::unfold;
use sprag_supervisor::process::{Tail, follow, tail};
use sprag_wire::WorkerLog;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use super::{HEARTBEAT, sse};
use crate::app::App;
use crate::problem::{Code, Problem};

/// How often a log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Where a reader begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogStart {
    /// Behind an offset.
    After(u64),
    /// So many lines before the end.
    Lines(usize),
}

/// A reader of a log.
pub(crate) struct LogFollowing {
    app: App,
    log: PathBuf,
    start: LogStart,
    /// Looks since the last word.
    quiet_looks: u32,
    is_open: bool,
    _place: OwnedSemaphorePermit,
}

impl LogFollowing {
    /// The log at `log`, from `start` on.
    pub(crate) fn open(app: App, log: PathBuf, start: LogStart) -> Result<Self, Problem> {
        let place = app.streams.place()?;
        Ok(Self {
            app,
            log,
            start,
            quiet_looks: 0,
            is_open: false,
            _place: place,
        })
    }

    /// The answer that carries it.
    pub(crate) fn response(self) -> Response {
        sse::response(unfold(self, Self::next))
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.is_open {
            self.is_open = true;
            return Some((Ok(sse::OPENING.into()), self));
        }
        loop {
            if self.app.is_closing() {
                return None;
            }
            // A log that cannot be read ends the stream: the reader comes back, and learns why.
            let Tail { text, offset } = self.look().await.ok()?;
            self.start = LogStart::After(offset);
            if !text.is_empty() {
                self.quiet_looks = 0;
                let mut event = String::new();
                sse::event(&mut event, "log", Some(offset), &WorkerLog { text, offset });
                let piece = sse::piece(&self.app, event).await?;
                return Some((Ok(piece), self));
            }
            self.quiet_looks += 1;
            if LOOK_EVERY * self.quiet_looks >= HEARTBEAT {
                self.quiet_looks = 0;
                return Some((Ok(sse::HEARTBEAT.into()), self));
            }
            tokio::select! {
                biased;
                () = self.app.closed() => return None,
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn look(&self) -> Result<Tail, Problem> {
        let (log, start) = (self.log.clone(), self.start);
        let read = tokio::task::spawn_blocking(move || match start {
            LogStart::After(offset) => follow(&log, offset),
            LogStart::Lines(lines) => tail(&log, lines),
        });
        let failed = |error: String| Problem::new(Code::InternalError, format!("the log cannot be read: {error}"));
        let read = read.await.map_err(|error| failed(error.to_string()))?;
        read.map_err(|error| failed(error.to_string()))
    }
}
