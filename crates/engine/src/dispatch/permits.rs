//! Permits: how many attempts may be under way at once, in all, per type, and per key.
//!
//! Grants are derived from the attempts under way: there is no counter that a crash could leave wrong.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::{LimitUse, Route};
use sprag_core::ids::{AttemptId, SwitchId};
use sprag_core::time::Timestamp;

use super::rate::Bucket;
use crate::control::Numbers;

/// Attempts at once on this node, in all, unless configured.
const TOTAL_DEFAULT: usize = 1_024;

/// The caps of this node.
#[derive(Clone, Debug)]
pub struct Caps {
    /// Attempts at once, in all.
    pub total: usize,
    /// Attempts at once per type.
    pub per_type: BTreeMap<String, usize>,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            total: TOTAL_DEFAULT,
            per_type: BTreeMap::new(),
        }
    }
}

/// What an attempt needs a permit for.
#[derive(Clone, Debug)]
pub(super) struct Need<'a> {
    pub(super) kind: &'a str,
    pub(super) limits: &'a [LimitUse],
}

/// Why there is no permit now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lack {
    /// The node is at its cap.
    Total,
    /// The type is.
    Type(String),
    /// The key is at its concurrency.
    Key(String),
    /// The key's rate is used up until then.
    Rate(String, Timestamp),
    /// The destination is failing; one may try then.
    Circuit(String, Timestamp),
    /// A switch holds all of its type.
    Switch(SwitchId),
    /// No program asks for it. The last of these, so that all of its kind stand together at the end.
    Runner(Route),
}

/// The attempts under way and what they hold.
#[derive(Debug, Default)]
pub(super) struct Permits {
    caps: Caps,
    held: BTreeMap<AttemptId, Held>,
    by_type: BTreeMap<String, BTreeSet<AttemptId>>,
    by_key: BTreeMap<String, BTreeSet<AttemptId>>,
    buckets: BTreeMap<String, Bucket>,
    /// What operators say instead of definitions, by key.
    overrides: BTreeMap<String, Numbers>,
}

#[derive(Debug)]
struct Held {
    kind: String,
    keys: Vec<String>,
}

impl Permits {
    pub(super) fn new(caps: Caps) -> Self {
        Self {
            caps,
            ..Self::default()
        }
    }

    /// Forgets the attempts under way; what is left of rates stays known.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.by_type.clear();
        self.by_key.clear();
    }

    /// How many attempts are under way.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no other attempt may begin.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= self.caps.total
    }

    /// The attempts under way.
    pub(super) fn attempts(&self) -> impl Iterator<Item = AttemptId> {
        self.held.keys().copied()
    }

    /// How many attempts of a type are under way.
    pub(super) fn of_type(&self, kind: &str) -> usize {
        self.by_type.get(kind).map_or(0, BTreeSet::len)
    }

    /// What an attempt would lack, without taking anything.
    pub(super) fn lacks(&mut self, need: &Need<'_>, now: Timestamp) -> Option<Lack> {
        if self.is_full() {
            return Some(Lack::Total);
        }
        if self
            .caps
            .per_type
            .get(need.kind)
            .is_some_and(|&cap| self.of_type(need.kind) >= cap)
        {
            return Some(Lack::Type(need.kind.to_owned()));
        }
        need.limits.iter().find_map(|limit| self.lacks_key(limit, now))
    }

    /// How many attempts under a key are under way.
    pub(super) fn of_key(&self, key: &str) -> usize {
        self.by_key.get(key).map_or(0, BTreeSet::len)
    }

    /// The keys under which attempts are under way.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_key.keys()
    }

    /// An operator's numbers count instead of the definitions', or no longer do.
    pub(super) fn set_override(&mut self, key: &str, numbers: Option<Numbers>) {
        match numbers {
            Some(numbers) => {
                if let (Some(rate), Some(bucket)) = (numbers.rate, self.buckets.get_mut(key)) {
                    bucket.widen(rate);
                }
                self.overrides.insert(key.to_owned(), numbers);
            }
            None => {
                self.overrides.remove(key);
            }
        }
    }

    /// The numbers that count for a limit: an operator's where given, else its own.
    fn numbers(&self, limit: &LimitUse) -> Numbers {
        let given = self.overrides.get(&limit.key).copied().unwrap_or_default();
        Numbers {
            concurrency: given.concurrency.or(limit.concurrency),
            rate: given.rate.or(limit.rate),
        }
    }

    fn lacks_key(&mut self, limit: &LimitUse, now: Timestamp) -> Option<Lack> {
        let Numbers { concurrency, rate } = self.numbers(limit);
        let used = self.of_key(&limit.key);
        let full = concurrency.is_some_and(|most| used >= usize::try_from(most).unwrap_or(usize::MAX));
        if full {
            return Some(Lack::Key(limit.key.clone()));
        }
        let rate = rate?;
        let bucket = self
            .buckets
            .entry(limit.key.clone())
            .or_insert_with(|| Bucket::new(rate, now));
        bucket
            .peek(rate, now)
            .err()
            .map(|until| Lack::Rate(limit.key.clone(), until))
    }

    /// Takes what the attempt needs; the caller has seen that nothing is lacking.
    pub(super) fn take(&mut self, attempt: AttemptId, need: &Need<'_>, now: Timestamp) {
        for limit in need.limits {
            if let (Some(rate), Some(bucket)) = (self.numbers(limit).rate, self.buckets.get_mut(&limit.key)) {
                // An attempt found running at start had its token in an earlier life.
                let _ = bucket.take(rate, now);
            }
            self.by_key.entry(limit.key.clone()).or_default().insert(attempt);
        }
        self.by_type.entry(need.kind.to_owned()).or_default().insert(attempt);
        let keys = need.limits.iter().map(|limit| limit.key.clone()).collect();
        self.held.insert(
            attempt,
            Held {
                kind: need.kind.to_owned(),
                keys,
            },
        );
    }

    /// Gives back what the attempt held; says under what others may be parked.
    pub(super) fn release(&mut self, attempt: AttemptId) -> Vec<Lack> {
        let Some(Held { kind, keys }) = self.held.remove(&attempt) else {
            return Vec::new();
        };
        remove(&mut self.by_type, &kind, attempt);
        for key in &keys {
            remove(&mut self.by_key, key, attempt);
        }
        let mut freed = vec![Lack::Total, Lack::Type(kind)];
        freed.extend(keys.into_iter().map(Lack::Key));
        freed
    }
}

fn remove(sets: &mut BTreeMap<String, BTreeSet<AttemptId>>, name: &str, attempt: AttemptId) {
    if let Some(set) = sets.get_mut(name) {
        set.remove(&attempt);
        if set.is_empty() {
            sets.remove(name);
        }
    }
}
