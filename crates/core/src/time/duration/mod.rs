//! Durations as people write them in definitions: whole milliseconds inside, `30s` or `PT5M` outside.
//!
//! A duration is never negative and never longer than [`Millis::MAX`], so adding one to a point in time is safe.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Number, Value};

/// 100 years of 365.25 days.
const MILLISECONDS_MAX: u64 = 36_525 * DAY;
const DAY: u64 = 24 * HOUR;
const HOUR: u64 = 60 * MINUTE;
const MINUTE: u64 = 60 * SECOND;
const SECOND: u64 = 1_000;

/// Values in messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// A unit's name and its milliseconds.
type Unit = (&'static str, u64);

/// The short form's units, the largest first.
const UNITS: [Unit; 5] = [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];
/// The units of ISO 8601 before the `T`, and after it.
const ISO_DATE_UNITS: [Unit; 2] = [("W", 7 * DAY), ("D", DAY)];
const ISO_TIME_UNITS: [Unit; 3] = [("H", HOUR), ("M", MINUTE), ("S", SECOND)];

/// A duration in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Millis(u64);

/// A value that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "duration `{value}` {reason}; give milliseconds as a number, or `250ms`, `30s`, `5m`, `2h`, `3d`, `1h30m`, `PT5M`"
)]
pub struct DurationError {
    /// The value, as it was written.
    pub value: String,
    /// What is wrong with it.
    pub reason: DurationErrorKind,
}

/// What is wrong with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationErrorKind {
    /// It has none of the accepted forms.
    Unreadable,
    /// It is below zero.
    Negative,
    /// It has parts of a millisecond.
    TooFine,
    /// It is longer than [`Millis::MAX`].
    TooLong,
    /// It counts years or months, which have no fixed length.
    Calendar,
}

impl fmt::Display for DurationErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "cannot be read",
            Self::Negative => "is negative",
            Self::TooFine => "is not a whole number of milliseconds",
            Self::TooLong => "is longer than 100 years",
            Self::Calendar => "has years or months, which vary in length: count days, as in `P30D`",
        })
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest duration: 100 years of 365.25 days.
    pub const MAX: Self = Self(MILLISECONDS_MAX);

    /// A duration of so many milliseconds.
    pub fn new(milliseconds: u64) -> Result<Self, DurationError> {
        bounded(milliseconds).map_err(|reason| DurationError {
            value: milliseconds.to_string(),
            reason,
        })
    }

    /// The milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads `250ms`, `30s`, `5m`, `2h`, `3d`, several of them from the largest unit down (`1h30m`), plain digits
    /// (milliseconds), or ISO 8601 with weeks, days, hours, minutes and seconds (`PT5M`). Seconds may have a
    /// fraction.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        read(text).and_then(bounded).map_err(|reason| DurationError {
            value: shown(text),
            reason,
        })
    }

    /// Reads a number of milliseconds, or text as [`Millis::parse`] does.
    pub fn from_value(value: &Value) -> Result<Self, DurationError> {
        let milliseconds = match value {
            Value::String(text) => return Self::parse(text),
            Value::Number(number) => whole(number),
            _ => Err(DurationErrorKind::Unreadable),
        };
        milliseconds.and_then(bounded).map_err(|reason| DurationError {
            value: shown(&value.to_string()),
            reason,
        })
    }
}

/// The shortest text that [`Millis::parse`] reads back: `3d`, `1m30s`, `0s`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (name, milliseconds) in UNITS {
            let count = rest / milliseconds;
            rest %= milliseconds;
            if count > 0 {
                write!(f, "{count}{name}")?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

fn bounded(milliseconds: u64) -> Result<Millis, DurationErrorKind> {
    if milliseconds > MILLISECONDS_MAX {
        Err(DurationErrorKind::TooLong)
    } else {
        Ok(Millis(milliseconds))
    }
}

fn whole(number: &Number) -> Result<u64, DurationErrorKind> {
    match (number.as_u64(), number.as_f64()) {
        (Some(milliseconds), _) => Ok(milliseconds),
        (None, Some(float)) if float < 0.0 => Err(DurationErrorKind::Negative),
        (None, Some(float)) if float.fract() == 0.0 => {
            format!("{float:.0}").parse().map_err(|_| DurationErrorKind::TooLong)
        }
        (None, _) => Err(DurationErrorKind::TooFine),
    }
}

fn read(text: &str) -> Result<u64, DurationErrorKind> {
    if text.starts_with('-') {
        return Err(DurationErrorKind::Negative);
    }
    if is_digits(text) {
        return count(text, 1);
    }
    match text.strip_prefix('P') {
        Some(iso) => read_iso(iso),
        None => sum(text, &UNITS),
    }
}

/// The part of an ISO 8601 duration behind its `P`.
fn read_iso(text: &str) -> Result<u64, DurationErrorKind> {
    let (date, time) = text
        .split_once('T')
        .map_or((text, None), |(date, time)| (date, Some(time)));
    if date.contains(['Y', 'M']) {
        return Err(DurationErrorKind::Calendar);
    }
    let days = if date.is_empty() && time.is_some() {
        0
    } else {
        sum(date, &ISO_DATE_UNITS)?
    };
    let seconds = time.map_or(Ok(0), |time| sum(time, &ISO_TIME_UNITS))?;
    days.checked_add(seconds).ok_or(DurationErrorKind::TooLong)
}

/// Adds up amounts with their units, at least one. Units come from the largest to the smallest, each at most once.
fn sum(text: &str, units: &[Unit]) -> Result<u64, DurationErrorKind> {
    let mut left = units.iter();
    let mut rest = text;
    let mut total: u64 = 0;
    loop {
        let (amount, behind) = split_where(rest, |c| !is_of_amount(c));
        let (name, behind) = split_where(behind, is_of_amount);
        let (_, milliseconds) = left
            .find(|(known, _)| *known == name)
            .ok_or(DurationErrorKind::Unreadable)?;
        total = total
            .checked_add(count(amount, *milliseconds)?)
            .ok_or(DurationErrorKind::TooLong)?;
        rest = behind;
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

/// An amount of a unit in milliseconds.
fn count(amount: &str, unit: u64) -> Result<u64, DurationErrorKind> {
    let (whole, fraction) = amount
        .split_once(['.', ','])
        .map_or((amount, None), |(w, f)| (w, Some(f)));
    if !is_digits(whole) {
        return Err(DurationErrorKind::Unreadable);
    }
    let whole = whole
        .parse::<u64>()
        .ok()
        .and_then(|whole| whole.checked_mul(unit))
        .ok_or(DurationErrorKind::TooLong)?;
    let part = match fraction {
        None => 0,
        Some(digits) if unit == SECOND && is_digits(digits) => thousandths(digits)?,
        Some(_) => return Err(DurationErrorKind::Unreadable),
    };
    whole.checked_add(part).ok_or(DurationErrorKind::TooLong)
}

/// The digits behind a second's point, in milliseconds.
fn thousandths(digits: &str) -> Result<u64, DurationErrorKind> {
    let significant = digits.trim_end_matches('0');
    format!("{significant:0<3}")
        .parse()
        .ok()
        .filter(|_| significant.len() <= 3)
        .ok_or(DurationErrorKind::TooFine)
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

fn is_of_amount(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '.' | ',')
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests;
