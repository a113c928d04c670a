//! The member's loop: a heartbeat now and then, and what the lane let go of in between.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use sprag_store::Fence;

use super::{Member, Orders};

/// What the lane tells its member. A lane that has ended says nothing any more.
#[derive(Debug)]
pub(crate) enum Word {
    /// It let go of these.
    Released(Vec<Fence>),
    /// It is about to end.
    Leaving,
}

/// A member on a thread of its own.
pub struct Service {
    member: Member,
    orders: Box<dyn FnMut(Orders) + Send>,
    words: Receiver<Word>,
}

impl Service {
    pub(crate) fn new(member: Member, orders: Box<dyn FnMut(Orders) + Send>, words: Receiver<Word>) -> Self {
        Self { member, orders, words }
    }

    /// Until the lane has ended; then the node leaves.
    pub fn run(mut self) {
        loop {
            match self.member.beat() {
                Ok(orders) => (self.orders)(orders),
                // The lane counts the time for itself: it starts nothing once the lease may have run out.
                Err(error) => tracing::warn!(%error, "a heartbeat was not heard"),
            }
            if !self.rest() {
                break;
            }
        }
        if let Err(error) = self.member.leave() {
            tracing::warn!(%error, "the node could not say that it leaves: its lease runs out by itself");
        }
    }

    /// Waits for the next heartbeat. Says whether there is one.
    fn rest(&mut self) -> bool {
        let rest = Duration::from_millis(self.member.rest_millis());
        match self.words.recv_timeout(rest) {
            Ok(Word::Released(fences)) => {
                if let Err(error) = self.member.released(&fences) {
                    tracing::warn!(%error, "shards could not be released: their lease runs out by itself");
                }
                true
            }
            Ok(Word::Leaving) => {
                self.member.prepare_to_leave();
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }
}
