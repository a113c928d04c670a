//! The switches as readers see them: what the lane last committed.

use std::sync::{Arc, PoisonError, RwLock};

use super::clock::ClockBoard;
use super::switch::Switches;

/// Written by the lane after a commit, read by everybody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    /// How the clock is.
    pub(crate) clock: ClockBoard,
    switches: Arc<RwLock<Arc<Switches>>>,
}

impl Board {
    /// The switches now.
    pub(crate) fn switches(&self) -> Arc<Switches> {
        Arc::clone(&self.switches.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows these from now on, unless they are shown already.
    pub(crate) fn show(&self, switches: &Switches) {
        if *self.switches() == *switches {
            return;
        }
        let mut shown = self.switches.write().unwrap_or_else(PoisonError::into_inner);
        *shown = Arc::new(switches.clone());
    }
}
