//! Instants and durations as people read them.

use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// An instant of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When(Timestamp);

/// The present instant of this machine.
pub(crate) fn now() -> Timestamp {
    System::start(Timestamp::default()).now()
}

impl From<Timestamp> for When {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl When {
    /// Reads RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// Whether it has come.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        self.0 <= now
    }

    /// `2026-01-31 12:00:00Z`.
    pub(crate) fn short(self) -> String {
        let text = self.0.to_string();
        match text.split_once('.') {
            Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
            None => text,
        }
    }

    /// `2026-01-31 12:00:00Z (in 5m)`.
    pub(crate) fn long(self, now: Timestamp) -> String {
        let (ahead, past) = (self.0.since(now), now.since(self.0));
        let distance = match (ahead, past) {
            (0, 0..SECOND) | (0..SECOND, 0) => "now".to_owned(),
            (0, past) => format!("{} ago", about(past)),
            (ahead, _) => format!("in {}", about(ahead)),
        };
        format!("{} ({distance})", self.short())
    }
}

/// A duration as definitions write it: `1m30s`.
pub(crate) fn span(millis: u64) -> String {
    Millis::new(millis).map_or_else(|_| format!("{millis}ms"), |span| span.to_string())
}

/// A duration in its two largest units: milliseconds of three days do not matter.
fn about(millis: u64) -> String {
    let unit = match millis {
        DAY.. => HOUR,
        HOUR.. => MINUTE,
        _ => SECOND,
    };
    span(millis - millis % unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_with_how_far_it_is() {
        let now: Timestamp = "2026-01-31T12:00:00.000Z".parse().unwrap();
        let long = |text: &str| When::parse(text).unwrap().long(now);
        assert_eq!(long("2026-01-31T12:05:01.999Z"), "2026-01-31 12:05:01Z (in 5m1s)");
        assert_eq!(long("2026-01-28T10:30:00.000Z"), "2026-01-28 10:30:00Z (3d1h ago)");
        assert_eq!(long("2026-01-31T12:00:00.500Z"), "2026-01-31 12:00:00Z (now)");
        assert_eq!(long("2026-01-31T11:59:59.500Z"), "2026-01-31 11:59:59Z (now)");
        assert_eq!(When::parse("yesterday"), None);
    }
}
