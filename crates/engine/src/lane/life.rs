//! Signs of life: what tells a crash loop from a long run.

use sprag_core::time::Timestamp;

use super::Lane;
use crate::options::{LIFE_EVERY_MILLIS, SHORT_LIFE_MILLIS};

impl Lane {
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
