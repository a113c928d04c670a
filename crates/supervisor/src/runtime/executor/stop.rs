//! The end of an executor: it starts no action, ends waiting ones at once, and gives running ones a time limit.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::service::{CancelReason, Executor};

/// How a stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Actions that were given up while they ran.
    pub leaked: u64,
}

impl Executor {
    /// Begins to stop, and returns at once: the scans that follow bring the rest, and [`Executor::stopped`] says when.
    /// A second call does nothing.
    pub fn stop(&self, now: Timestamp) {
        let mut slots = self.lock();
        if slots.stop_at.is_some() {
            return;
        }
        slots.stop_at = Some(now.plus(self.options.stop_bound_millis));
        let busy: Vec<Arc<str>> = slots
            .workers
            .iter()
            .filter(|(_, slot)| slot.action.is_some())
            .map(|(worker, _)| Arc::clone(worker))
            .collect();
        for worker in busy {
            self.cancel_current(&mut slots, &worker, CancelReason::Shutdown, now);
        }
    }

    /// How the stop ended, once it has: at the latest with the first scan after its bound.
    pub fn stopped(&self) -> Option<Stopped> {
        let slots = self.lock();
        let is_over = slots.stop_at.is_some() && slots.taken == 0;
        is_over.then_some(Stopped {
            leaked: slots.stop_leaked,
        })
    }
}
