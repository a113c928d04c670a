//! The thread that writes commits while the lane decides the next batch.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};

use sprag_store::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::writing::{Committer, Desk, Work, Writing};
use crate::engine::inbox::Wake;

/// Commands in a batch that is worth another thread: to wake one takes some 0.05 ms, as long as deciding so many.
const WORTHWHILE: usize = 8;

/// Commands in a batch that waits behind another.
const WORTH_WAITING: usize = 40;

/// The lane's side of it. The thread ends with it, after the commits it has.
pub(crate) struct WriterThread {
    work: UnboundedSender<Work>,
    done: Receiver<Result<(), Error>>,
    /// Taken out while the lane looked whether there is one.
    seen: Option<Result<(), Error>>,
}

impl WriterThread {
    /// Starts the thread. It wakes the lane whenever a commit has a result.
    pub(crate) fn start(lane: Sender<Wake>) -> Result<Self, Error> {
        let (work, to_do) = unbounded_channel();
        let (finished, done) = channel();
        std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                let mut writing = Writing::new(Thread { to_do, finished, lane });
                while let Some(work) = writing.desk.to_do.blocking_recv() {
                    writing.perform(work);
                }
            })
            .map_err(|error| Error::Failed {
                detail: format!("the writer thread did not start: {error}"),
            })?;
        Ok(Self { work, done, seen: None })
    }
}

/// The thread's side of it.
struct Thread {
    to_do: UnboundedReceiver<Work>,
    finished: Sender<Result<(), Error>>,
    lane: Sender<Wake>,
}

impl Desk for Thread {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Work>> {
        self.to_do.poll_recv(context)
    }

    fn tell(&mut self, result: Result<(), Error>) {
        // A lane that has ended needs neither.
        let _ = self.finished.send(result);
        let _ = self.lane.send(Wake::Written);
    }
}

impl Committer for WriterThread {
    fn worthwhile(&self) -> usize {
        WORTHWHILE
    }

    fn worth_waiting(&self) -> usize {
        WORTH_WAITING
    }

    fn begin(&mut self, work: Work) {
        // The lane notices a thread that is gone when it waits for the result.
        let _ = self.work.send(work);
    }

    fn is_done(&mut self) -> bool {
        if self.seen.is_none() {
            self.seen = self.done.try_recv().ok();
        }
        self.seen.is_some()
    }

    fn wait(&mut self) -> Option<Result<(), Error>> {
        self.seen.take().or_else(|| self.done.recv().ok())
    }
}
