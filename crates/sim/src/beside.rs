//! Batches that are written beside the lane: here, when somebody waits for them.
//!
//! What the lane decides meanwhile it decides on what is not written yet, so every fault of the disk can strike between a
//! decision and the one it rests on.

use sprag_engine::lane::{Committer, Done, Work};

/// Keeps the batch until somebody waits for it.
#[derive(Default)]
pub(crate) struct Beside(Option<Work>);

impl Committer for Beside {
    fn worthwhile(&self) -> usize {
        1
    }

    fn begin(&mut self, work: Work) {
        self.0 = Some(work);
    }

    fn is_done(&mut self) -> bool {
        false
    }

    fn wait(&mut self) -> Option<Done> {
        self.0.take().map(Work::perform)
    }
}
