//! Whether the clock can be believed: it is compared with what is stored, and with time that never jumps.
//!
//! Everything that is due follows the clock. Only ids follow the latest stored instant, so that records keep their order after a
//! process whose clock was ahead. A clock that is more than a day ahead of what was known may be wrong, and what was deleted for its
//! age does not come back: then retention waits for a person. The instant up to which the clock is believed is a fact of the control
//! shard, so that a restart does not make a jump forgotten.

use serde::{Deserialize, Serialize};
use sprag_core::time::Timestamp;
use sprag_store::Error;
use sprag_store::records::{Fact, FactKind, ProcessRun};

use crate::queue::control::{body, fact};

/// The name of the fact.
const CLOCK: &str = "clock";

/// A clock that is further behind the store than this is reported.
pub const BEHIND_MILLIS: u64 = 60_000;

/// A clock that jumped further ahead than this is not believed.
pub const JUMP_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// How often the instant up to which the clock is believed is stored.
const STORE_EVERY_MILLIS: u64 = 60 * 60 * 1_000;

/// What is stored about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    /// Up to when it is believed.
    trusted_at: Timestamp,
    /// Instants up to this one are known to be ahead of the clock, and a person accepted that.
    #[serde(default)]
    accepted: Timestamp,
}

/// What a lane knows about its clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockCheck {
    /// The latest instant that the store bears, unless it was accepted.
    latest: Timestamp,
    accepted: Timestamp,
    /// Up to when the clock is believed; nothing is known of a new store.
    trusted: Option<Timestamp>,
    /// When that was stored last.
    stored: Option<Timestamp>,
    /// The microseconds at which the clock was looked at last.
    micros: Option<u64>,
}

impl ClockCheck {
    /// What these marks and the newest process on the store say.
    pub(crate) fn of(marks: &[Fact], life: Option<ProcessRun>) -> Result<Self, Error> {
        let found = marks.iter().find(|mark| mark.key == CLOCK);
        let stored = found.map(body::<Stored>).transpose()?;
        let seen = life.map(|ProcessRun { started_at, seen_at }| seen_at.max(started_at));
        let accepted = stored.map(|stored| stored.accepted).unwrap_or_default();
        // Each process on a store begins after the one before it, if only by a millisecond.
        let is_accepted = life.is_some_and(|life| life.started_at <= accepted.plus(BEHIND_MILLIS));
        Ok(Self {
            latest: seen.filter(|_| !is_accepted).unwrap_or_default(),
            accepted,
            trusted: stored.map(|stored| stored.trusted_at).or(seen),
            stored: stored.map(|stored| stored.trusted_at),
            micros: None,
        })
    }

    /// Takes over what `before` knew of the clock itself; the store may know of a person who accepted it since.
    pub(crate) fn inherit(&mut self, before: &Self) {
        self.micros = before.micros;
        if self.accepted == before.accepted {
            self.trusted = before.trusted.or(self.trusted);
        }
    }

    /// The clock says `now`, and so many microseconds have passed since some instant.
    pub(crate) fn observe(&mut self, now: Timestamp, micros: u64) {
        let passed = self.micros.map_or(0, |before| micros.saturating_sub(before) / 1_000);
        self.micros = Some(micros);
        let expected = self.trusted.unwrap_or(now).plus(passed);
        let is_believed = now.since(expected) <= JUMP_MILLIS;
        self.trusted = Some(if is_believed { now } else { expected });
    }

    /// The clock says `now`, and nothing is deleted by it: it is believed.
    pub(crate) fn believe(&mut self, now: Timestamp, micros: u64) {
        self.micros = Some(micros);
        self.trusted = Some(now);
    }

    /// How far ahead the clock is of what can be believed, if it is not believed.
    pub(crate) fn jump(&self, now: Timestamp) -> Option<u64> {
        let ahead = now.since(self.trusted.unwrap_or(now));
        (ahead > JUMP_MILLIS).then_some(ahead)
    }

    /// The latest instant that the store bears, unless a person accepted that it is ahead.
    pub(crate) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// When the fact is to be stored again, as of `now`: what is believed passes as time does, also while the clock is not.
    pub(crate) fn next(&self, now: Timestamp) -> Timestamp {
        match (self.stored, self.trusted) {
            (Some(stored), Some(trusted)) => now.plus(stored.plus(STORE_EVERY_MILLIS).since(trusted)),
            _ => now,
        }
    }

    /// The fact to store, if it is time to.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Fact> {
        let trusted = self.trusted?;
        let is_due = self.stored.is_none_or(|at| self.next(now) <= now || at > now);
        if !is_due || self.stored == Some(trusted) {
            return None;
        }
        Some(self.put(trusted))
    }

    /// A person says that the clock is right: it is believed, and instants ahead of it are known to be.
    pub(crate) fn accept(&mut self, now: Timestamp) -> Fact {
        self.accepted = self.accepted.max(self.latest).max(now);
        self.latest = Timestamp::default();
        self.trusted = Some(now);
        self.put(now)
    }

    fn put(&mut self, trusted_at: Timestamp) -> Fact {
        self.stored = Some(trusted_at);
        let accepted = self.accepted;
        fact(FactKind::Mark, CLOCK, &Stored { trusted_at, accepted })
    }
}

/// The fact that the clock is believed as of `now`, for a database that a person puts in its place.
pub(crate) fn believed(now: Timestamp) -> Fact {
    ClockCheck::default().put(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 60 * 60 * 1_000;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).plus(millis)
    }

    fn since(trusted: Timestamp) -> ClockCheck {
        ClockCheck {
            trusted: Some(trusted),
            ..ClockCheck::default()
        }
    }

    #[test]
    fn a_clock_that_goes_on_is_believed_however_long_it_goes_on() {
        let mut check = since(at(0));
        check.observe(at(0), 5);
        let week = 7 * 24 * HOUR;
        check.observe(at(week), 5 + week * 1_000);
        assert_eq!(check.jump(at(week)), None);
    }

    #[test]
    fn a_start_more_than_a_day_after_the_last_is_not_believed_until_a_person_says_so() {
        let mut check = since(at(0));
        let later = at(25 * HOUR);
        check.observe(later, 0);
        assert_eq!(check.jump(later), Some(25 * HOUR));
        check.observe(later.plus(HOUR), HOUR * 1_000);
        assert_eq!(
            check.jump(later.plus(HOUR)),
            Some(25 * HOUR),
            "it passes as any hour does"
        );
        check.accept(later.plus(HOUR));
        assert_eq!(check.jump(later.plus(HOUR)), None);
    }

    #[test]
    fn a_jump_of_a_running_process_is_not_believed_either() {
        let mut check = since(at(0));
        check.observe(at(0), 0);
        check.observe(at(23 * HOUR), 1_000);
        assert_eq!(check.jump(at(23 * HOUR)), None, "less than a day");
        check.observe(at(48 * HOUR), 2_000);
        assert!(check.jump(at(48 * HOUR)).is_some());
    }

    #[test]
    fn a_clock_that_is_right_again_needs_nobody() {
        let mut check = since(at(0));
        check.observe(at(HOUR), 0);
        assert_eq!(check.jump(at(HOUR)), None);
        check.observe(at(0), 1_000);
        assert_eq!(check.jump(at(0)), None, "back is no jump ahead");
    }
}
