//! A time zone as stretches of time in which its offset stays the same.
//!
//! Within a stretch the wall clock and the instant run side by side, so every question about clock changes is a
//! question about where a stretch begins: later on the wall clock than the one before it ended (a gap), or earlier
//! (times that are shown again).

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// A stretch of time with one offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The first instant.
    pub(super) start: Timestamp,
    /// The first instant after it.
    pub(super) end: Timestamp,
    offset: Offset,
    /// The offset that held until `start`; the same as `offset` where there was no change.
    before: Offset,
}

impl Stretch {
    /// What the wall clock shows at `instant`, which is in this stretch or its end.
    pub(super) fn wall(&self, instant: Timestamp) -> DateTime {
        self.offset.to_datetime(instant)
    }

    /// The instant in this stretch at which the wall clock shows `wall`.
    pub(super) fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        self.offset.to_timestamp(wall).ok()
    }

    /// What the wall clock would have shown at the start, had it not changed. In a gap this is the first skipped
    /// time; where times are repeated, the first that is not.
    pub(super) fn wall_unchanged(&self) -> DateTime {
        self.before.to_datetime(self.start)
    }
}

/// The stretches of `zone`, beginning with the one that `from` is in.
pub(super) fn stretches(zone: &TimeZone, from: Timestamp) -> impl Iterator<Item = Stretch> + '_ {
    let mut current = Some(last_change(zone, from));
    let mut changes = zone.following(from);
    std::iter::from_fn(move || {
        let Change { at, before, after } = current.take()?;
        current = changes.next().map(|next| Change {
            at: next.timestamp(),
            before: after,
            after: next.offset(),
        });
        let end = current.as_ref().map_or(Timestamp::MAX, |next| next.at);
        Some(Stretch {
            start: at,
            end,
            offset: after,
            before,
        })
    })
}

/// A change of the zone's clock. Zone data also has changes of the name alone, where both offsets are the same.
struct Change {
    at: Timestamp,
    before: Offset,
    after: Offset,
}

/// The last change up to and including `from`; the beginning of time where there was none. No zone changes twice
/// within a day, so nothing is gained by looking further back.
fn last_change(zone: &TimeZone, from: Timestamp) -> Change {
    // Changes are at whole seconds, and `preceding` leaves out a change at the very instant it is given.
    let beyond = from.checked_add(SECOND).unwrap_or(Timestamp::MAX);
    let last = zone.preceding(beyond).next();
    let at = last.map_or(Timestamp::MIN, |change| change.timestamp());
    Change {
        at,
        before: zone.to_offset(at.checked_sub(SECOND).unwrap_or(at)),
        after: zone.to_offset(at),
    }
}
