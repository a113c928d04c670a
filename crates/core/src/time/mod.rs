//! Instants: UTC milliseconds inside, RFC 3339 with milliseconds outside. Clocks, durations and schedules build on them.

pub mod clock;
pub mod duration;
pub mod schedule;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant, as UTC milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Why a text is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 instant such as `2026-01-31T12:00:00.000Z`")]
pub struct ParseTimestampError(String);

impl Timestamp {
    /// The last instant that can be written whatever the zone: a day before four digits of year run out.
    pub const MAX: Self = Self(253_402_207_199_999);

    /// The instant that many milliseconds after 1970 began.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The instant `millis` later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus(self, millis: u64) -> Self {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis).min(Self::MAX.0))
    }

    /// Milliseconds from `earlier` to this instant; none when it is not later.
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// How long the text of an instant is from 1970 to 9999.
const TEXT_LENGTH: usize = 24;
const DAY_MILLIS: u64 = 86_400_000;

/// The text of an instant, without an allocation: every answer shows several.
struct Text([u8; TEXT_LENGTH]);

impl Text {
    /// None for instants that need another number of characters.
    fn of(at: Timestamp) -> Option<Self> {
        let millis = u64::try_from(at.0).ok().filter(|_| at <= Timestamp::MAX)?;
        let (year, month, day) = date(millis / DAY_MILLIS);
        let of_day = millis % DAY_MILLIS;
        let (of_hour, of_minute, of_second) = (of_day % 3_600_000, of_day % 60_000, of_day % 1_000);
        let mut text = Self(*b"0000-00-00T00:00:00.000Z");
        text.put(0, 4, year);
        text.put(5, 2, month);
        text.put(8, 2, day);
        text.put(11, 2, of_day / 3_600_000);
        text.put(14, 2, of_hour / 60_000);
        text.put(17, 2, of_minute / 1_000);
        text.put(20, 3, of_second);
        Some(text)
    }

    /// Writes a number with leading zeros.
    fn put(&mut self, at: usize, digits: usize, number: u64) {
        let mut rest = number;
        for digit in self.0.iter_mut().skip(at).take(digits).rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Year, month and day of a day since 1970 began. Years are counted from March, so that the day a leap year adds is the
/// last of its year: then the months have the same lengths in every year (Hinnant, `civil_from_days`).
fn date(day: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    let day = day + 719_468;
    let (era, of_era) = (day / ERA_DAYS, day % ERA_DAYS);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = Text::of(*self) {
            return f.write_str(text.as_str());
        }
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let instant: jiff::Timestamp = text
            .parse()
            .map_err(|_| ParseTimestampError(text.chars().take(64).collect()))?;
        Ok(Self(instant.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Text::of(*self) {
            Some(text) => serializer.serialize_str(text.as_str()),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// `#[serde(with = "time::millis")]`: the form the store keeps.
pub mod millis {
    use super::{Deserialize, Deserializer, Serializer, Timestamp};

    /// Writes the instant as milliseconds.
    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.as_millis())
    }

    /// Reads milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_millis)
    }

    /// The same for an instant that may be absent.
    pub mod option {
        use super::{Deserialize, Deserializer, Serializer, Timestamp};

        /// Writes milliseconds or null.
        pub fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => serializer.serialize_i64(at.as_millis()),
                None => serializer.serialize_none(),
            }
        }

        /// Reads milliseconds or null.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
            Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp::from_millis))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_calendar(at: Timestamp) -> String {
        let instant = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
        format!("{instant:.3}")
    }

    proptest! {
        #[test]
        fn every_instant_is_written_as_the_calendar_has_it(millis in -10_000_000_000_000_i64..=253_402_207_199_999) {
            let at = Timestamp::from_millis(millis);
            prop_assert_eq!(at.to_string(), by_calendar(at));
            prop_assert_eq!(serde_json::to_value(at).unwrap(), at.to_string());
        }
    }

    #[test]
    fn every_day_is_written_as_the_calendar_has_it() {
        let last = Timestamp::MAX.as_millis() / 86_400_000;
        for day in 0..=last {
            let at = Timestamp::from_millis(day * 86_400_000);
            assert_eq!(at.to_string(), by_calendar(at));
        }
    }

    #[test]
    fn the_text_is_rfc_3339_with_milliseconds() {
        let at = Timestamp::from_millis(1_767_225_600_007);
        assert_eq!(at.to_string(), "2026-01-01T00:00:00.007Z");
        assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T21:59:59.999Z");
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp::from_millis(5).plus(u64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), 0);
    }
}
