//! The live stream of a run, as one reader sees it.

use std::pin::Pin;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tonic::Status;

use super::mailbox::{Command, Mailbox};
use crate::lifecycle::RunId;
use crate::wire::proto::LiveStats;

/// What there is to read about a run: each slot is written by the actor alone. A live message replaces the one before it; the
/// terminal message has a slot of its own, so no reader misses it.
#[derive(Clone, Default)]
pub(super) struct Frame {
    pub(super) ready: Option<LiveStats>,
    pub(super) live: Option<LiveStats>,
    pub(super) last: Option<Last>,
}

/// How the stream ends.
#[derive(Clone)]
pub(super) struct Last {
    pub(super) message: Option<LiveStats>,
    pub(super) status: Option<Status>,
}

/// A stream of live messages.
pub(super) type LiveStream = Pin<Box<dyn Stream<Item = Result<LiveStats, Status>> + Send>>;

/// A right to read a run.
pub(super) struct Ticket {
    pub(super) run: RunId,
    pub(super) view: u64,
    pub(super) frames: watch::Receiver<Frame>,
    pub(super) mailbox: Mailbox,
    /// A reader that attaches knows that the agent was READY.
    pub(super) skips_ready: bool,
}

/// How far a reader is.
struct Reader {
    frames: watch::Receiver<Frame>,
    guard: Guard,
    has_ready: bool,
    sequence: u64,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    Message,
    Over,
}

/// Tells the actor that a reader is gone before the end.
struct Guard {
    run: RunId,
    view: u64,
    mailbox: Mailbox,
    is_over: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_over {
            let (run, view) = (self.run, self.view);
            self.mailbox.post(Command::ViewDropped { run, view });
        }
    }
}

impl Ticket {
    /// The stream.
    pub(super) fn stream(self) -> LiveStream {
        let Self {
            run,
            view,
            frames,
            mailbox,
            skips_ready,
        } = self;
        let reader = Reader {
            frames,
            guard: Guard {
                run,
                view,
                mailbox,
                is_over: false,
            },
            has_ready: skips_ready,
            sequence: 0,
            ending: Ending::Open,
        };
        Box::pin(unfold(reader, |mut reader| async move {
            let item = reader.next().await?;
            Some((item, reader))
        }))
    }
}

impl Reader {
    async fn next(&mut self) -> Option<Result<LiveStats, Status>> {
        loop {
            let frame = self.frames.borrow_and_update().clone();
            if self.ending == Ending::Over {
                self.guard.is_over = true;
                return None;
            }
            if let Some(item) = self.read(frame) {
                return Some(item);
            }
            if self.ending != Ending::Over && self.frames.changed().await.is_err() {
                self.ending = Ending::Over;
                return Some(Err(Status::unavailable("the agent is gone")));
            }
        }
    }

    /// The next item of what there is now.
    fn read(&mut self, frame: Frame) -> Option<Result<LiveStats, Status>> {
        if let Some(ready) = frame.ready.filter(|_| !self.has_ready) {
            self.has_ready = true;
            return Some(Ok(ready));
        }
        if let Some(last) = frame.last {
            if let Some(message) = last.message.filter(|_| self.ending == Ending::Open) {
                self.ending = if last.status.is_some() {
                    Ending::Message
                } else {
                    Ending::Over
                };
                return Some(Ok(message));
            }
            self.ending = Ending::Over;
            return last.status.map(Err);
        }
        let live = frame.live.filter(|live| live.sequence > self.sequence)?;
        self.sequence = live.sequence;
        Some(Ok(live))
    }
}
