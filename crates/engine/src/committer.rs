//! The thread that writes batches beside the lane.

use std::sync::mpsc::{Receiver, Sender, channel};

use sprag_store::Error;

use crate::inbox::Wake;
use crate::lane::{Committer, Work, Writing};

/// Commands in a batch that is worth another thread: to wake one takes some 0.05 ms, as long as deciding so many.
const WORTHWHILE: usize = 8;

/// Commands in a batch that waits behind another.
const WORTH_WAITING: usize = 40;

/// The lane's side of it. The thread ends with it, after what it is about.
pub(crate) struct Beside {
    work: Sender<Work>,
    done: Receiver<Result<(), Error>>,
    /// Taken out while somebody looked whether there is one.
    seen: Option<Result<(), Error>>,
}

impl Beside {
    /// Starts the thread. It wakes the lane whenever a batch is written.
    pub(crate) fn start(lane: Sender<Wake>) -> Result<Self, Error> {
        let (work, to_do) = channel::<Work>();
        let (finished, done) = channel();
        std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                let mut writing = Writing::default();
                for work in to_do {
                    // A lane that has ended needs neither.
                    let _ = finished.send(writing.perform(&work));
                    let _ = lane.send(Wake::Written);
                }
            })
            .map_err(|error| Error::Failed {
                detail: format!("no thread to write beside the lane: {error}"),
            })?;
        Ok(Self { work, done, seen: None })
    }
}

impl Committer for Beside {
    fn worthwhile(&self) -> usize {
        WORTHWHILE
    }

    fn worth_waiting(&self) -> usize {
        WORTH_WAITING
    }

    fn begin(&mut self, work: Work) {
        // A thread that is gone is noticed by whoever waits for it.
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
