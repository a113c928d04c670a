//! Batches that are written beside the lane: here, when somebody waits for them, or looks often enough.
//!
//! What the lane decides meanwhile it decides on what is not written yet, so every fault of the disk can strike between a
//! decision and the one it rests on.

use std::collections::VecDeque;

use sprag_engine::lane::{Committer, Work, Writing};
use sprag_store::Error;

/// Keeps batches until somebody waits for them.
#[derive(Default)]
pub(crate) struct Beside {
    waiting: VecDeque<Work>,
    writing: Writing,
    /// What became of the oldest, if it was written before anybody waited for it.
    done: Option<Result<(), Error>>,
    looks: u32,
}

/// Every so many looks find the oldest batch written.
const LOOKS: u32 = 3;

impl Committer for Beside {
    fn worthwhile(&self) -> usize {
        1
    }

    fn worth_waiting(&self) -> usize {
        // Some wait, some stay open.
        4
    }

    fn begin(&mut self, work: Work) {
        self.waiting.push_back(work);
    }

    fn is_done(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        if self.done.is_none() && self.looks.is_multiple_of(LOOKS) {
            self.done = self.write();
        }
        self.done.is_some()
    }

    fn wait(&mut self) -> Option<Result<(), Error>> {
        self.done.take().or_else(|| self.write())
    }
}

impl Beside {
    fn write(&mut self) -> Option<Result<(), Error>> {
        let work = self.waiting.pop_front()?;
        Some(self.writing.perform(&work))
    }
}
