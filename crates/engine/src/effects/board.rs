//! What readers see of the lane: the switches, the tokens and the clock, as of the last commit.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sprag_core::time::Timestamp;

use crate::decide::{BEHIND_MILLIS, ClockCheck};
use crate::queue::control::Switches;
use crate::queue::tokens::Tokens;

/// Written by the lane after a commit, read by everybody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    /// How the clock is.
    pub(crate) clock: ClockBoard,
    switches: Arc<RwLock<Arc<Switches>>>,
    tokens: Arc<RwLock<Arc<Tokens>>>,
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

    /// The tokens now.
    pub(crate) fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows these from now on, unless they are shown already.
    pub(crate) fn show_tokens(&self, tokens: &Arc<Tokens>) {
        if Arc::ptr_eq(&self.tokens(), tokens) {
            return;
        }
        let mut shown = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        *shown = Arc::clone(tokens);
    }
}

/// What readers see of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockBoard(Arc<Shown>);

#[derive(Debug, Default)]
struct Shown {
    latest: AtomicI64,
    jump: AtomicU64,
}

impl ClockBoard {
    /// Shows how the clock is now.
    pub(crate) fn show(&self, check: &ClockCheck, now: Timestamp) {
        self.0.latest.store(check.latest().as_millis(), Ordering::Relaxed);
        self.0.jump.store(check.jump(now).unwrap_or(0), Ordering::Relaxed);
    }

    /// How the clock is that says `now`, while the wall clock says `wall`.
    pub(crate) fn view(&self, now: Timestamp, wall: Timestamp) -> ClockView {
        let latest = Timestamp::from_millis(self.0.latest.load(Ordering::Relaxed));
        let jump = self.0.jump.load(Ordering::Relaxed);
        let beyond = |millis: u64| (millis > BEHIND_MILLIS).then_some(millis);
        ClockView {
            behind_store: beyond(latest.since(now)),
            ahead_of_wall: beyond(now.since(wall)),
            jumped: (jump > 0).then_some(jump),
        }
    }
}

/// What is wrong with the clock, in milliseconds each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockView {
    /// The store bears instants that are so far ahead of the clock.
    pub behind_store: Option<u64>,
    /// The clock of the machine went back so far while the process ran; engine time did not.
    pub ahead_of_wall: Option<u64>,
    /// The clock jumped so far ahead, and retention waits.
    pub jumped: Option<u64>,
}

#[cfg(test)]
mod tests {
    use sprag_store::records::ProcessRun;

    use super::*;

    const HOUR: u64 = 60 * 60 * 1_000;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).plus(millis)
    }

    #[test]
    fn what_is_wrong_is_shown_in_milliseconds() {
        let board = ClockBoard::default();
        let last = ProcessRun {
            started_at: at(HOUR),
            seen_at: at(HOUR),
        };
        let mut check = ClockCheck::of(&[], Some(last)).unwrap();
        check.believe(at(0), 0);
        board.show(&check, at(0));
        let view = board.view(at(0), at(0));
        assert_eq!((view.behind_store, view.jumped), (Some(HOUR), None));
        assert_eq!(board.view(at(HOUR), at(0)).ahead_of_wall, Some(HOUR));
        assert_eq!(board.view(at(HOUR - BEHIND_MILLIS), at(HOUR)), ClockView::default());
    }
}
