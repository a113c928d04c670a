//! The fields of a cron expression: their order, ranges and names.

use std::fmt;

/// A field of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CronField {
    /// 0 to 59; only in an expression of six fields.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31, or `L`.
    DayOfMonth,
    /// 1 to 12, or `JAN` to `DEC`.
    Month,
    /// 0 to 7, or `SUN` to `SAT`; 0 and 7 are Sunday.
    DayOfWeek,
}

impl CronField {
    /// The smallest and the largest value that `*` stands for.
    pub(super) fn range(self) -> (i8, i8) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 6),
        }
    }

    /// The largest value that may be written, which for Sunday is one more than `*` stands for.
    pub(super) fn largest(self) -> i8 {
        match self {
            Self::DayOfWeek => 7,
            _ => self.range().1,
        }
    }

    /// The names of the values, from the smallest on.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &[
                "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
            ],
            Self::DayOfWeek => &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
            _ => &[],
        }
    }

    /// Whether a repeating item in this field makes the expression an interval job.
    pub(super) fn is_time_of_day(self) -> bool {
        matches!(self, Self::Second | Self::Minute | Self::Hour)
    }

    /// Whether this is one of the two fields that together choose the day.
    pub(super) fn is_day(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    /// What may be written as a value, for messages.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "0 to 59",
            Self::Hour => "0 to 23",
            Self::DayOfMonth => "1 to 31, or L for the last day",
            Self::Month => "1 to 12, or JAN to DEC",
            Self::DayOfWeek => "0 to 7, or SUN to SAT",
        }
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}
