//! Work that programs outside this process perform: which of them an action is for, and how long an attempt is theirs.

use serde::{Deserialize, Serialize};

use crate::time::{Timestamp, millis};

/// What an action asks of the program that performs it. All actions of a line ask the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The runner's name.
    pub runner: String,
    /// The action's type.
    pub kind: String,
    /// The action's tags, sorted, each once.
    pub tags: Vec<String>,
}

impl Route {
    /// The route of actions of this type with these tags to that runner.
    pub fn new(runner: &str, kind: &str, tags: &[String]) -> Self {
        let mut tags = tags.to_vec();
        tags.sort_unstable();
        tags.dedup();
        Self {
            runner: runner.to_owned(),
            kind: kind.to_owned(),
            tags,
        }
    }

    /// Runner and tags as the part of a line's name: JSON, so no control character stands in it.
    pub fn text(&self) -> String {
        serde_json::json!([self.runner, self.tags]).to_string()
    }

    /// Reads [`Route::text`] back, for actions of this type.
    pub fn parse(kind: &str, text: &str) -> Option<Self> {
        let (runner, tags) = serde_json::from_str(text).ok()?;
        Some(Self {
            runner,
            kind: kind.to_owned(),
            tags,
        })
    }
}

/// How long an attempt belongs to the program that asked for it. Stored with the attempt, before the program hears of
/// it; what heartbeats add lives in memory, and the next owner grants one full lease anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// What the program calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// Milliseconds that each heartbeat grants.
    pub millis: u64,
    /// Until then it need not say anything.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// Then the attempt's time is over, whatever the heartbeats say.
    #[serde(with = "millis")]
    pub deadline: Timestamp,
}

impl Lease {
    /// A lease that begins now: of so many milliseconds, but never beyond the attempt's own time.
    pub fn begin(runner: Option<String>, millis: u64, now: Timestamp, deadline: Timestamp) -> Self {
        Self {
            runner,
            millis,
            until: now.plus(millis).min(deadline),
            deadline,
        }
    }

    /// The same, one full measure from now.
    #[must_use]
    pub fn renewed(&self, now: Timestamp) -> Self {
        Self::begin(self.runner.clone(), self.millis, now, self.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_route_is_read_back_from_its_text_whatever_its_names_hold() {
        let tags = ["b\u{1d}\u{1f}\"".to_owned(), "a".to_owned(), "a".to_owned()];
        let route = Route::new("the \"gpu\"\u{1e}", "render", &tags);
        assert_eq!(route.tags, ["a", "b\u{1d}\u{1f}\""]);
        assert!(!route.text().contains(|c: char| c.is_control()), "{:?}", route.text());
        assert_eq!(Route::parse("render", &route.text()), Some(route));
        assert_eq!(Route::parse("render", "what is no route"), None);
    }

    #[test]
    fn a_lease_grows_with_heartbeats_and_never_beyond_the_attempts_time() {
        let lease = Lease::begin(None, 60, at(0), at(100));
        assert_eq!(lease.until, at(60));
        assert_eq!(lease.renewed(at(20)).until, at(80));
        assert_eq!(lease.renewed(at(90)).until, at(100));
    }
}
