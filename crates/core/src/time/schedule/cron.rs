//! A cron expression in its time zone: when it fires next, and how often it fires in between.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use super::calendar::Calendar;
use super::error::CronError;
use super::parse::{self, Pace};
use super::stretch::{Stretch, stretches};

/// How far ahead the next occurrence is looked for: fifty years. The rarest date is a 29 February on a given weekday,
/// which across a year such as 2100 comes forty years after the one before.
const HORIZON: SignedDuration = SignedDuration::from_hours(50 * 366 * 24);

const MILLIS: i64 = 1000;

/// A cron expression and the time zone it is read in.
///
/// [The module](super) says what may be written and what happens when the clock changes. `Display` gives the expression
/// as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    expression: String,
    zone: TimeZone,
    calendar: Calendar,
    pace: Pace,
}

impl Cron {
    /// Reads `expression` in the IANA time zone `timezone`, or in UTC.
    pub fn parse(expression: &str, timezone: Option<&str>) -> Result<Self, CronError> {
        let (calendar, pace) = parse::parse(expression)?;
        let zone = timezone.map_or(Ok(TimeZone::UTC), find_zone)?;
        Ok(Self {
            expression: expression.to_owned(),
            zone,
            calendar,
            pace,
        })
    }

    /// The first occurrence strictly after `after_ms`, both in milliseconds since 1970 UTC.
    ///
    /// `None` where there is none within fifty years: the date does not exist, or the wall clock always skips it.
    pub fn next_after(&self, after_ms: i64) -> Option<i64> {
        let from = second_after(after_ms)?;
        let until = from.checked_add(HORIZON).unwrap_or_else(|_| end_of_time());
        self.stretches(from, until)
            .find_map(|stretch| self.first_in(&stretch, from, until))
            .map(Timestamp::as_millisecond)
    }

    /// Whether no date in any year matches, such as `0 0 30 2 *`.
    ///
    /// This looks at the calendar alone. An interval job on a date whose matching times the zone always skips is left
    /// to [`next_after`](Self::next_after), because zones change.
    pub fn never_fires(&self) -> bool {
        self.calendar.is_empty()
    }

    /// How many occurrences there are strictly after `after_ms` and strictly before `before_ms`. The work is in
    /// proportion to the months between them.
    pub fn count_between(&self, after_ms: i64, before_ms: i64) -> u64 {
        let Some(from) = second_after(after_ms) else { return 0 };
        // An occurrence is a whole second, so the first whole second at or after `before_ms` bounds it as well.
        let until = second_after(before_ms.saturating_sub(1)).unwrap_or_else(end_of_time);
        self.stretches(from, until)
            .map(|stretch| self.count_in(&stretch, from, until))
            .sum()
    }

    /// The name of its time zone.
    pub fn time_zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    fn stretches(&self, from: Timestamp, until: Timestamp) -> impl Iterator<Item = Stretch> + '_ {
        stretches(&self.zone, from).take_while(move |stretch| stretch.start < until)
    }

    /// The first occurrence of a stretch at or after `from` and before `until`.
    fn first_in(&self, stretch: &Stretch, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        if self.makes_up_for_gap(stretch, from) {
            return Some(stretch.start);
        }
        let (first, end) = self.wall_between(stretch, from, until);
        stretch.instant(self.calendar.first_between(first, end)?)
    }

    fn count_in(&self, stretch: &Stretch, from: Timestamp, until: Timestamp) -> u64 {
        let (first, end) = self.wall_between(stretch, from, until);
        // A made-up firing that is also due in its own right is one occurrence.
        let start = stretch.wall(stretch.start);
        let made_up = self.makes_up_for_gap(stretch, from) && self.calendar.first_between(start, end) != Some(start);
        self.calendar.count_between(first, end) + u64::from(made_up)
    }

    /// Whether the start of `stretch` is at or after `from` and stands in for a fixed time skipped just before it.
    fn makes_up_for_gap(&self, stretch: &Stretch, from: Timestamp) -> bool {
        let skipped = || {
            self.calendar
                .first_between(stretch.wall_unchanged(), stretch.wall(stretch.start))
        };
        self.pace == Pace::Fixed && from <= stretch.start && skipped().is_some()
    }

    /// The part of a stretch between `from` and `until` as shown on the wall clock. For fixed times it leaves out what
    /// the clock had already shown before the stretch began.
    fn wall_between(&self, stretch: &Stretch, from: Timestamp, until: Timestamp) -> (DateTime, DateTime) {
        let first = stretch.wall(from.max(stretch.start));
        let first = match self.pace {
            Pace::Fixed => first.max(stretch.wall_unchanged()),
            Pace::Interval => first,
        };
        (first, stretch.wall(until.min(stretch.end)))
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}

fn find_zone(name: &str) -> Result<TimeZone, CronError> {
    // The zone data compiled in, never that of the machine: two nodes must compute the same instants.
    let zone = TimeZoneDatabase::bundled()
        .get(name)
        .ok()
        .filter(|zone| !zone.is_unknown());
    zone.ok_or_else(|| CronError::UnknownZone { name: name.to_owned() })
}

/// The first whole second strictly after a time in milliseconds; the beginning of time for one before it, `None` for
/// one beyond its end.
fn second_after(ms: i64) -> Option<Timestamp> {
    let second = ms.div_euclid(MILLIS) + 1;
    Timestamp::from_second(second.max(Timestamp::MIN.as_second())).ok()
}

/// The last whole second there is, so that searching and counting, which both stop before it, stop at the same place.
fn end_of_time() -> Timestamp {
    Timestamp::from_second(Timestamp::MAX.as_second()).unwrap_or(Timestamp::MAX)
}
