//! What an expression matches on the wall clock, with no time zone in sight.
//!
//! Searching and counting go by months and bit sets, so both take work in proportion to the months passed, never to
//! the number of matches.

use jiff::civil::{Date, DateTime, Time, Weekday};

use super::bits::Bits;

/// The wall-clock times an expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Calendar {
    pub(super) seconds: Bits,
    pub(super) minutes: Bits,
    pub(super) hours: Bits,
    pub(super) months: Bits,
    /// `None` where the day of month is unrestricted.
    pub(super) month_days: Option<MonthDays>,
    /// `None` where the day of week is unrestricted.
    pub(super) weekdays: Option<Weekdays>,
}

/// Days named by their number in the month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MonthDays {
    pub(super) numbers: Bits,
    /// Whether the month's last day is meant too.
    pub(super) last: bool,
}

/// Days named by their weekday, Sunday as 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Weekdays {
    pub(super) every: Bits,
    /// The first, second, … fifth of the month.
    pub(super) nth: [Bits; 5],
    /// The last of the month.
    pub(super) last: Bits,
}

impl Calendar {
    /// The first match at or after `from` and before `until`.
    pub(super) fn first_between(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let today = || {
            let day = self.first_day_between(from.date(), from.date())?;
            Some(day.to_datetime(self.first_time_from(from.time())?))
        };
        let later = || {
            let day = self.first_day_between(from.date().tomorrow().ok()?, until.date())?;
            Some(day.to_datetime(self.first_time_from(Time::midnight())?))
        };
        today().or_else(later).filter(|found| *found < until)
    }

    /// How many matches there are at or after `from` and before `until`.
    pub(super) fn count_between(&self, from: DateTime, until: DateTime) -> u64 {
        if from >= until {
            return 0;
        }
        let last = until.date().first_of_month();
        let days: u64 = months_from(from.date())
            .take_while(|month| *month < last)
            .map(|month| self.days_of(month).count())
            .sum();
        (days * self.times_per_day() + self.count_in_month_before(until))
            .saturating_sub(self.count_in_month_before(from))
    }

    /// Whether no date in any year matches, such as 30 February.
    pub(super) fn is_empty(&self) -> bool {
        // There are fourteen kinds of year, by the weekday of 1 January and by leap year or not. Twenty-eight years in
        // a row that keep to the four-year rule have them all.
        const YEARS: std::ops::Range<i16> = 2000..2028;
        !YEARS
            .flat_map(|year| months_from(Date::constant(year, 1, 1)).take(12))
            .any(|month| !self.days_of(month).is_empty())
    }

    /// The first matching day from `from` to `until`, both included.
    fn first_day_between(&self, from: Date, until: Date) -> Option<Date> {
        let mut earliest = from.day();
        for month in months_from(from).take_while(|month| *month <= until) {
            if let Some(day) = self.days_of(month).first_from(earliest) {
                return Date::new(month.year(), month.month(), day)
                    .ok()
                    .filter(|found| *found <= until);
            }
            earliest = 1;
        }
        None
    }

    /// The matching days of the month that begins on `first`.
    fn days_of(&self, first: Date) -> Bits {
        if !self.months.contains(first.month()) {
            return Bits::default();
        }
        let length = first.days_in_month();
        match (&self.month_days, &self.weekdays) {
            (None, None) => (1..=length).collect(),
            (Some(days), None) => days.within(length),
            (None, Some(weekdays)) => weekdays.within(length, first.weekday()),
            (Some(days), Some(weekdays)) => days.within(length).union(weekdays.within(length, first.weekday())),
        }
    }

    /// The first matching time of day at or after `from`.
    fn first_time_from(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        let in_minute = || {
            let second = self.seconds.first_from(second)?;
            (self.hours.contains(hour) && self.minutes.contains(minute)).then_some((hour, minute, second))
        };
        let in_hour = || {
            let minute = self.minutes.first_from(minute + 1)?;
            self.hours
                .contains(hour)
                .then_some((hour, minute, self.seconds.first_from(0)?))
        };
        let later = || {
            Some((
                self.hours.first_from(hour + 1)?,
                self.minutes.first_from(0)?,
                self.seconds.first_from(0)?,
            ))
        };
        let (hour, minute, second) = in_minute().or_else(in_hour).or_else(later)?;
        Time::new(hour, minute, second, 0).ok()
    }

    fn times_per_day(&self) -> u64 {
        self.hours.count() * self.minutes.count() * self.seconds.count()
    }

    /// How many matches the month of `at` has before `at`.
    fn count_in_month_before(&self, at: DateTime) -> u64 {
        let days = self.days_of(at.date().first_of_month());
        let today = if days.contains(at.day()) {
            self.count_in_day_before(at.time())
        } else {
            0
        };
        days.count_below(at.day()) * self.times_per_day() + today
    }

    fn count_in_day_before(&self, time: Time) -> u64 {
        let in_minute = if self.minutes.contains(time.minute()) {
            self.seconds.count_below(time.second())
        } else {
            0
        };
        let in_hour = if self.hours.contains(time.hour()) {
            self.minutes.count_below(time.minute()) * self.seconds.count() + in_minute
        } else {
            0
        };
        self.hours.count_below(time.hour()) * self.minutes.count() * self.seconds.count() + in_hour
    }
}

impl MonthDays {
    fn within(&self, length: i8) -> Bits {
        let mut days = self.numbers.up_to(length);
        if self.last {
            days.insert(length);
        }
        days
    }
}

impl Weekdays {
    fn within(&self, length: i8, first: Weekday) -> Bits {
        let first = first.to_sunday_zero_offset();
        (1..=length)
            .filter(|day| self.matches(*day, (first + day - 1) % 7, length))
            .collect()
    }

    fn matches(&self, day: i8, weekday: i8, length: i8) -> bool {
        let nth = usize::try_from((day - 1) / 7).ok().and_then(|week| self.nth.get(week));
        self.every.contains(weekday)
            || nth.is_some_and(|days| days.contains(weekday))
            || (day > length - 7 && self.last.contains(weekday))
    }
}

/// The first days of the month of `date` and of all later ones.
fn months_from(date: Date) -> impl Iterator<Item = Date> {
    std::iter::successors(Some(date.first_of_month()), |month| {
        month.last_of_month().tomorrow().ok()
    })
}
