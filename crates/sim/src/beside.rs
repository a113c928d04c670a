//! Batches that are written beside the lane: here, when the lane waits for them, or looks often enough.
//!
//! What the lane decides meanwhile it decides on what is not written yet, so every fault of the disk can strike between a
//! decision and the one it rests on.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use sprag_engine::{Committer, Desk, Work, Writing};
use sprag_store::Error;

/// Keeps batches until the lane waits for them.
pub(crate) struct Beside {
    writing: Writing<Waiting>,
    looks: u32,
}

/// Batches that are not written yet, and what became of others.
#[derive(Default)]
struct Waiting {
    batches: VecDeque<Work>,
    done: VecDeque<Result<(), Error>>,
}

/// Every so many looks find the oldest batch written.
const LOOKS: u32 = 5;

impl Desk for Waiting {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Work>> {
        self.batches
            .pop_front()
            .map_or(Poll::Pending, |work| Poll::Ready(Some(work)))
    }

    fn tell(&mut self, result: Result<(), Error>) {
        self.done.push_back(result);
    }
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            writing: Writing::new(Waiting::default()),
            looks: 0,
        }
    }
}

impl Committer for Beside {
    fn worthwhile(&self) -> usize {
        1
    }

    fn worth_waiting(&self) -> usize {
        1
    }

    fn begin(&mut self, work: Work) {
        self.writing.desk.batches.push_back(work);
    }

    fn is_done(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS) {
            self.write();
        }
        !self.writing.desk.done.is_empty()
    }

    fn wait(&mut self) -> Option<Result<(), Error>> {
        self.write();
        self.writing.desk.done.pop_front()
    }
}

impl Beside {
    /// Writes the oldest batch, unless there is one whose result is not known yet.
    fn write(&mut self) {
        if self.writing.desk.done.is_empty()
            && let Some(work) = self.writing.desk.batches.pop_front()
        {
            self.writing.perform(work);
        }
    }
}
