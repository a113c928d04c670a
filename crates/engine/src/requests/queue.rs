//! What waits and what runs, as the queue knows it.

use super::{Answer, Refusal, Request, Route};
use crate::decide::Decider;
use crate::read::queue::LinesInMemory;

/// Show what waits and what runs on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowQueue;

impl Answer for LinesInMemory {}

impl Request for ShowQueue {
    type Answer = LinesInMemory;
    const NAME: &'static str = "show-queue";

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<LinesInMemory, Refusal> {
        let known = &decider.known;
        Ok(known.queue.status(&known.control.switches, decider.now()))
    }
}
