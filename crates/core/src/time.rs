//! Instants: UTC milliseconds inside, RFC 3339 with milliseconds outside.

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

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        serializer.collect_str(self)
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
    use super::*;

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
