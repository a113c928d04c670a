//! Signs of life: what tells a crash loop from a long run.

use sprag_core::time::Timestamp;
use sprag_store::records::ProcessRun;

use super::Lane;
use crate::control::{BEHIND_MILLIS, Control};
use crate::options::{LIFE_EVERY_MILLIS, SHORT_LIFE_MILLIS};

/// The instant from which the ids of a process go on that starts at `now` on a store whose latest instant is `latest`.
pub(super) fn order_from(latest: Timestamp, now: Timestamp) -> Timestamp {
    if latest > now {
        // The newest record may be a little newer than the last sign of life.
        latest.plus(LIFE_EVERY_MILLIS)
    } else {
        now
    }
}

impl Lane {
    /// Ids bear the clock's instant from now on, whatever is stored.
    pub(crate) fn order_by_clock(&mut self) {
        self.order_from = self.started_at;
    }

    /// This process on the store. It begins after the one before it, whatever the clock says, so that the newest is known.
    pub(super) fn life(&self) -> ProcessRun {
        let ran = self.now.since(self.started_at).min(SHORT_LIFE_MILLIS);
        ProcessRun {
            started_at: self.life_started,
            seen_at: self.order_time().max(self.life_started.plus(ran)),
        }
    }

    /// The instant that ids bear: the clock's. Behind a store whose records are ahead of the clock, ids go on after those, at half
    /// speed, so that they keep their order and the clock catches up.
    pub(super) fn order_time(&self) -> Timestamp {
        let ran = self.now.since(self.started_at);
        self.now.max(self.order_from.plus(ran / 2))
    }

    /// Compares the clock with what is known, and shows what is wrong with it.
    pub(super) fn observe_clock(&mut self) {
        let (now, micros) = (self.now, self.clock.micros());
        let Control { clock, board, .. } = &mut self.control;
        match self.options.retention {
            Some(_) => clock.observe(now, micros),
            None => clock.believe(now, micros),
        }
        board.clock.show(clock, self.now);
    }

    /// Reports a clock that is behind what is stored, when the lane begins.
    pub(super) fn report_clock(&self) {
        let millis = self.control.clock.latest().since(self.now);
        if millis > BEHIND_MILLIS {
            tracing::warn!(
                code = "clock-behind",
                millis,
                "the clock is behind the newest record in the store; if it is right, run `sprag system --accept-clock`"
            );
        }
    }

    /// When the instant up to which the clock is believed is to be stored, where somebody relies on it.
    pub(super) fn next_clock(&self) -> Option<Timestamp> {
        (self.options.retention.is_some() && self.owned.owns_control()).then(|| self.control.clock.next(self.now))
    }

    /// When to write down that the process lives: only until it has lived long enough to be above suspicion.
    pub(super) fn next_sign_of_life(&self) -> Option<Timestamp> {
        let young = self.life_written_at.since(self.started_at) < SHORT_LIFE_MILLIS;
        young.then(|| self.life_written_at.plus(LIFE_EVERY_MILLIS))
    }

    /// Whether this commit says that the process lives: now and then where something is written anyway, so that a later
    /// process never starts before the time of what is stored.
    pub(super) fn signs_life(&self, otherwise_idle: bool) -> bool {
        let due = self.life_written_at.plus(LIFE_EVERY_MILLIS) <= self.now;
        due && (!otherwise_idle || self.next_sign_of_life().is_some())
    }
}
