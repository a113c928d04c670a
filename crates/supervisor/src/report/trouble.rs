//! The troubles that an operator should know, and which of them Sprag has reported.
//!
//! A trouble is a level, not an event: the tree lists the troubles of an instant, and the ledger compares the list with
//! its own. It reports each new trouble once, and its end once. It stores an entry before it reports, and removes it
//! after. So after a crash in between, it sends the same report again under the same id.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sprag_core::document::json::digest;
use sprag_core::time::Timestamp;
use sprag_core::words;

/// Trouble that is not seen for so long is over, in milliseconds. A tree that was just started has not seen all of it.
pub const OVER_AFTER_MILLIS: u64 = 5_000;
/// The most troubles that are kept at a time. More are reported when some of these are over.
pub const TROUBLES_MAX: usize = 10_000;

words! {
    /// What is wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum TroubleKind as name {
        /// A rule gave up on a child.
        Escalated => "escalated",
        /// A rule restarts a child, or waits for it to be well.
        CircuitOpen => "circuit-open",
        /// A worker's code panicked too often.
        Panics => "panics",
        /// A worker is failed.
        Failed => "failed",
    }
}

impl TroubleKind {
    /// Whether nothing more is done about it until a person comes.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Escalated | Self::Failed)
    }
}

/// Something that is wrong at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What.
    pub kind: TroubleKind,
    /// With whom.
    pub worker: Arc<str>,
    /// By which rule.
    pub rule: Option<String>,
    /// Why.
    pub cause: String,
    /// Since when.
    pub since: Timestamp,
}

impl Trouble {
    fn subject(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or_default();
        format!("{} {} {rule}", self.kind.name(), self.worker)
    }
}

/// Trouble that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// Its name, which no other occurrence has.
    pub id: String,
    /// What.
    pub kind: TroubleKind,
    /// With whom.
    pub worker: String,
    /// By which rule.
    pub rule: Option<String>,
    /// Why, as it was when it began.
    pub cause: String,
    /// Since when.
    pub since: Timestamp,
    /// Whether its beginning was reported.
    pub is_told: bool,
    /// Since when it is over.
    pub over: Option<Timestamp>,
    #[serde(skip)]
    unseen_since: Option<Timestamp>,
}

/// Everything that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    troubles: BTreeMap<String, Known>,
}

impl Ledger {
    /// Takes in what is wrong now. Whether there is something to keep that was not kept before.
    pub fn compare(&mut self, troubles: &[Trouble], now: Timestamp) -> bool {
        let mut is_changed = false;
        let present: BTreeMap<String, &Trouble> = troubles.iter().map(|found| (found.subject(), found)).collect();
        for (subject, known) in &mut self.troubles {
            if known.over.is_some() {
                continue;
            }
            if present.contains_key(subject) {
                known.unseen_since = None;
                continue;
            }
            let since = *known.unseen_since.get_or_insert(now);
            if now.since(since) >= OVER_AFTER_MILLIS {
                known.over = Some(since);
                is_changed = true;
            }
        }
        for (subject, found) in present {
            if self.troubles.len() < TROUBLES_MAX && !self.troubles.contains_key(&subject) {
                let known = Known::of(&subject, found, now);
                self.troubles.insert(subject, known);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Troubles whose beginning was not reported yet.
    pub fn untold(&self) -> Vec<Known> {
        self.troubles.values().filter(|known| !known.is_told).cloned().collect()
    }

    /// Troubles whose beginning was reported and whose end was not.
    pub fn over(&self) -> Vec<Known> {
        let over = |known: &&Known| known.is_told && known.over.is_some();
        self.troubles.values().filter(over).cloned().collect()
    }

    /// Its beginning was reported.
    pub fn told(&mut self, id: &str) {
        if let Some(known) = self.troubles.values_mut().find(|known| known.id == id) {
            known.is_told = true;
        }
    }

    /// Its end was reported: nothing is left to know about it.
    pub fn settled(&mut self, id: &str) {
        self.troubles.retain(|_, known| known.id != id);
    }
}

impl Known {
    fn of(subject: &str, found: &Trouble, now: Timestamp) -> Self {
        let digest = digest(subject.as_bytes());
        let name = u64::from_be_bytes(digest.first_chunk().copied().unwrap_or_default());
        Self {
            id: format!("{}-{name:016x}-{}", found.kind.name(), now.as_millis()),
            kind: found.kind,
            worker: found.worker.as_ref().to_owned(),
            rule: found.rule.clone(),
            cause: found.cause.clone(),
            since: found.since,
            is_told: false,
            over: None,
            unseen_since: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn open(worker: &str) -> Trouble {
        Trouble {
            kind: TroubleKind::CircuitOpen,
            worker: Arc::from(worker),
            rule: Some("connected".to_owned()),
            cause: "it is cut off".to_owned(),
            since: at(900),
        }
    }

    #[test]
    fn each_occurrence_is_told_once_and_so_is_its_end() {
        let mut ledger = Ledger::default();
        assert!(ledger.compare(&[open("a")], at(1_000)));
        let first = ledger.untold();
        assert_eq!((first.len(), first[0].worker.as_str()), (1, "a"));
        ledger.told(&first[0].id);
        assert!(!ledger.compare(&[open("a")], at(2_000)), "it goes on: nothing is new");
        assert!(ledger.untold().is_empty() && ledger.over().is_empty());
        assert!(!ledger.compare(&[], at(3_000)));
        assert!(!ledger.compare(&[], at(7_999)), "a moment without it is not its end");
        assert!(ledger.compare(&[], at(8_000)));
        let over = ledger.over();
        assert_eq!(
            (over[0].id.clone(), over[0].over),
            (first[0].id.clone(), Some(at(3_000)))
        );
        ledger.settled(&over[0].id);
        assert_eq!(ledger, Ledger::default());
        ledger.compare(&[open("a")], at(9_000));
        assert_ne!(
            ledger.untold()[0].id,
            first[0].id,
            "another occurrence has another name"
        );
    }

    #[test]
    fn what_comes_back_at_once_is_the_same_trouble() {
        let mut ledger = Ledger::default();
        ledger.compare(&[open("a")], at(1_000));
        ledger.compare(&[], at(2_000));
        ledger.compare(&[open("a")], at(6_000));
        ledger.compare(&[], at(6_500));
        assert!(!ledger.compare(&[], at(10_000)), "counted from when it was last seen");
        assert!(ledger.over().is_empty());
    }

    #[test]
    fn a_ledger_that_was_kept_knows_what_was_told() {
        let mut ledger = Ledger::default();
        ledger.compare(&[open("a"), open("b")], at(1_000));
        let told = ledger.untold()[0].id.clone();
        ledger.told(&told);
        let kept = serde_json::to_value(&ledger).unwrap();
        let mut read: Ledger = serde_json::from_value(kept).unwrap();
        assert!(!read.compare(&[open("a"), open("b")], at(2_000)));
        let left: Vec<String> = read.untold().into_iter().map(|known| known.worker).collect();
        assert_eq!(left, ["b"]);
    }

    #[test]
    fn the_ledger_is_bounded() {
        let mut ledger = Ledger::default();
        let many: Vec<Trouble> = (0..TROUBLES_MAX + 5).map(|number| open(&number.to_string())).collect();
        ledger.compare(&many, at(1));
        assert_eq!(ledger.untold().len(), TROUBLES_MAX);
    }
}
