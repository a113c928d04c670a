//! Permits: how many attempts may be under way at once, in all, per type, and per key.
//!
//! Grants are derived from the attempts under way: there is no counter that a crash could leave wrong.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::{LimitUse, Route};
use sprag_core::ids::{AttemptId, SwitchId};
use sprag_core::time::Timestamp;

use super::rate::Bucket;
use crate::limits::owner::{AGAIN_MILLIS, SharedLimits};
use crate::limits::{LimitDemand, Numbers};

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
pub(crate) struct Need<'a> {
    pub(crate) kind: &'a str,
    pub(crate) limits: &'a [LimitUse],
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
    /// The owner of the key is elsewhere, and has not allowed it yet.
    Grant(String),
    /// The key's rate is used up until then.
    Rate(String, Timestamp),
    /// The destination is failing; one may try then.
    Circuit(String, Timestamp),
    /// A switch holds all of its type.
    Switch(SwitchId),
    /// A switch held all of its type and is being released: the next may start then.
    Release(SwitchId, Timestamp),
    /// No program asks for it. The last of these, so that all of its kind stand together at the end.
    Runner(Route),
}

/// The attempts under way and what they hold.
#[derive(Debug, Default)]
pub(crate) struct Permits {
    caps: Caps,
    held: BTreeMap<AttemptId, Held>,
    by_type: BTreeMap<String, BTreeSet<AttemptId>>,
    by_key: BTreeMap<String, BTreeSet<AttemptId>>,
    buckets: BTreeMap<String, Bucket>,
    /// What operators say instead of definitions, by key.
    overrides: BTreeMap<String, Numbers>,
    /// Keys across nodes.
    pub(crate) shared: SharedLimits,
}

#[derive(Debug)]
struct Held {
    kind: String,
    limits: Vec<LimitUse>,
}

/// What the owner of a key allows a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// So many at once, those it has under way included.
    pub(crate) most: u32,
    /// Others wait too.
    pub(crate) is_wanted: bool,
    /// When to ask again for what was not allowed, in milliseconds.
    pub(crate) again_millis: u64,
}

impl Permits {
    pub(crate) fn new(caps: Caps) -> Self {
        Self {
            caps,
            ..Self::default()
        }
    }

    /// Forgets the attempts under way; what is left of rates stays known.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        self.by_type.clear();
        self.by_key.clear();
        self.shared.void(None);
    }

    /// How many attempts are under way.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no other attempt may begin.
    pub(crate) fn is_full(&self) -> bool {
        self.held.len() >= self.caps.total
    }

    /// The attempts under way.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = AttemptId> {
        self.held.keys().copied()
    }

    /// How many attempts are under way, by type.
    pub(crate) fn by_type(&self) -> impl Iterator<Item = (&str, usize)> {
        let types = self.by_type.iter();
        types.map(|(kind, attempts)| (kind.as_str(), attempts.len()))
    }

    /// How many attempts of a type are under way.
    pub(crate) fn of_type(&self, kind: &str) -> usize {
        self.by_type.get(kind).map_or(0, BTreeSet::len)
    }

    /// What an attempt would lack, without taking anything.
    pub(crate) fn lacks(&mut self, need: &Need<'_>, now: Timestamp) -> Option<Lack> {
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
    pub(crate) fn of_key(&self, key: &str) -> usize {
        self.by_key.get(key).map_or(0, BTreeSet::len)
    }

    /// The keys under which attempts are under way.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_key.keys()
    }

    /// An operator's numbers count instead of the definitions', or no longer do.
    pub(crate) fn set_override(&mut self, key: &str, numbers: Option<Numbers>) {
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
        if concurrency.is_none() && rate.is_none() {
            return None;
        }
        if !self.shared.is_here(&limit.key) {
            let held = self.under(limit).count();
            let has_room = self.shared.has_room(limit, held, rate.is_some(), now);
            return (!has_room).then(|| Lack::Grant(limit.key.clone()));
        }
        if self.shared.is_blind() {
            return Some(Lack::Key(limit.key.clone()));
        }
        let kept = usize::from(self.shared.is_theirs_next(&limit.key, now));
        let used = self.of_key(&limit.key) + self.shared.elsewhere(&limit.key) + kept;
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
    pub(crate) fn take(&mut self, attempt: AttemptId, need: &Need<'_>, now: Timestamp) {
        for limit in need.limits {
            if let (Some(rate), Some(bucket)) = (self.numbers(limit).rate, self.buckets.get_mut(&limit.key)) {
                // An attempt found running at start had its token in an earlier life.
                let _ = bucket.take(rate, now);
            }
            self.by_key.entry(limit.key.clone()).or_default().insert(attempt);
            self.shared.took(&limit.key);
            if self.is_limited(limit) {
                self.shared.note(limit);
            }
        }
        self.shared.claim(attempt, need.limits);
        self.by_type.entry(need.kind.to_owned()).or_default().insert(attempt);
        self.held.insert(
            attempt,
            Held {
                kind: need.kind.to_owned(),
                limits: need.limits.to_vec(),
            },
        );
    }

    /// Keys may have another home than before: what is under way under those elsewhere is to be said there.
    pub(crate) fn note_all(&mut self) {
        let limits: Vec<LimitUse> = self.held.values().flat_map(|held| held.limits.clone()).collect();
        for limit in limits {
            if self.is_limited(&limit) {
                self.shared.note(&limit);
            }
        }
    }

    /// The attempts under way that are under a limit.
    pub(crate) fn under<'a>(&'a self, limit: &'a LimitUse) -> impl Iterator<Item = AttemptId> + 'a {
        let under_key = self.by_key.get(&limit.key).into_iter().flatten().copied();
        under_key.filter(move |attempt| self.limits_of(*attempt).contains(limit))
    }

    /// The limits that an attempt under way is under.
    pub(crate) fn limits_of(&self, attempt: AttemptId) -> &[LimitUse] {
        self.held.get(&attempt).map_or(&[], |held| held.limits.as_slice())
    }

    /// Whether a limit has any number that counts.
    pub(crate) fn is_limited(&self, limit: &LimitUse) -> bool {
        self.numbers(limit) != Numbers::default()
    }

    /// Allows another node what it asks for under a key that this node owns, as far as there is room. `waits_here` says
    /// whether something of this node waits too.
    pub(crate) fn grant(&mut self, demand: &LimitDemand, waits_here: bool, now: Timestamp, micros: u64) -> Allowance {
        let key = &demand.limit.key;
        let earlier = self.shared.take_demand(demand, now, micros);
        let Numbers { concurrency, rate } = self.numbers(&demand.limit);
        let most = concurrency.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let used = self.of_key(key) + self.shared.elsewhere(key);
        let over = u32::try_from(used.saturating_sub(most)).unwrap_or(u32::MAX);
        let kept = earlier.unwrap_or(0) + usize::from(waits_here && !self.shared.is_ours_last(key));
        let room = most.saturating_sub(used).saturating_sub(kept);
        let mut more = u32::try_from(room).unwrap_or(u32::MAX).min(demand.wants);
        if earlier.is_none() || self.shared.is_blind() {
            more = 0;
        }
        let mut again_millis = AGAIN_MILLIS;
        if let Some(rate) = rate {
            let bucket = self
                .buckets
                .entry(key.clone())
                .or_insert_with(|| Bucket::new(rate, now));
            let mut taken = 0;
            while taken < more {
                if let Err(until) = bucket.take(rate, now) {
                    again_millis = until.since(now).max(AGAIN_MILLIS);
                    break;
                }
                taken += 1;
            }
            more = taken;
        }
        let is_wanted = waits_here || self.shared.is_wanted(demand, now);
        let most = self.shared.grant(demand, more, over);
        Allowance {
            most,
            is_wanted,
            again_millis,
        }
    }

    /// Gives back what the attempt held; says under what others may be parked.
    pub(crate) fn release(&mut self, attempt: AttemptId) -> Vec<Lack> {
        let Some(Held { kind, limits }) = self.held.remove(&attempt) else {
            return Vec::new();
        };
        remove(&mut self.by_type, &kind, attempt);
        self.shared.ended(&limits);
        let mut freed = vec![Lack::Total, Lack::Type(kind)];
        for LimitUse { key, .. } in limits {
            remove(&mut self.by_key, &key, attempt);
            freed.push(Lack::Grant(key.clone()));
            freed.push(Lack::Key(key));
        }
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
