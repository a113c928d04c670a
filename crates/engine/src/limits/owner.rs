//! Keys that this node owns, and what this node may have under keys that another node owns (see [`crate::limits`]).
//!
//! Nothing here is stored: running attempts are, and a new owner of a key reads them. Until a node accounts for it,
//! an attempt that runs in a shard of another node is an orphan and counts.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::LimitUse;
use sprag_core::ids::{AttemptId, NodeId};
use sprag_core::time::Timestamp;
use sprag_store::traits::shard_of;
use sprag_store::{Fence, ShardId};

use crate::limits::{GrantReceived, LimitDemand, fence_of, owner_slot};

/// How many more a node asks for at once.
pub(crate) const WANTS_MAX: u32 = 64;
/// How long what was allowed may be used without another word, in milliseconds: less than a lease.
const ALLOWED_MILLIS: u64 = 5_000;
/// How often a node says what it holds although nothing changed, in milliseconds.
const RENEW_MILLIS: u64 = 1_500;
/// How long a node waits for an answer before it says it again, in milliseconds.
const ANSWER_MILLIS: u64 = 2_000;
/// How long it waits when the owner could not be asked, in milliseconds.
const UNHEARD_MILLIS: u64 = 300;
/// How soon a node asks again for what others have, in milliseconds.
pub(crate) const AGAIN_MILLIS: u64 = 150;
/// How long something that found no room is taken to want it, in milliseconds.
const MISSED_MILLIS: u64 = 1_200;
/// A node that wanted more and was not heard again for so long does not wait any more, in milliseconds.
const WAIT_KEPT_MILLIS: u64 = 1_000;

/// What another node has under a limit that this node owns.
#[derive(Debug)]
struct Theirs {
    node: NodeId,
    limit: LimitUse,
    number: u64,
    holds: BTreeSet<AttemptId>,
    spare: u32,
    /// It wants more, since then.
    waits: Option<Timestamp>,
    heard_at: Timestamp,
    /// The same, in microseconds that never jump.
    heard: u64,
}

impl Theirs {
    fn total(&self) -> usize {
        self.holds.len() + usize::try_from(self.spare).unwrap_or(usize::MAX)
    }

    fn waits_at(&self, now: Timestamp) -> bool {
        self.waits.is_some() && now < self.heard_at.plus(WAIT_KEPT_MILLIS)
    }
}

/// A statement that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    since: Timestamp,
    held: u32,
    /// So many that left were told with it.
    left: usize,
    /// With all that it wants, it would have so many.
    full: u32,
}

/// What this node may have under a limit that another node owns.
#[derive(Debug)]
pub(crate) struct Quota {
    limit: LimitUse,
    /// So many at once, those under way included.
    most: u32,
    /// So many the home may count for this node: until it has heard of less.
    known: u32,
    fence: Option<Fence>,
    /// Until when it may be used.
    until: Timestamp,
    is_wanted: bool,
    /// A rate is asked for anew with every attempt.
    is_paced: bool,
    /// The statement that is not answered yet.
    asked: Option<Asked>,
    stated_at: Timestamp,
    /// Not before then it asks for more.
    again_at: Timestamp,
    /// Something ended that others wait for.
    is_due: bool,
    /// Until then something wants it, whether it stands in a line or not.
    missed_until: Timestamp,
    /// Attempts that went with their shard.
    left: Vec<AttemptId>,
}

impl Quota {
    fn new(limit: &LimitUse) -> Self {
        Self {
            limit: limit.clone(),
            most: 0,
            known: 0,
            fence: None,
            until: Timestamp::default(),
            is_wanted: false,
            is_paced: false,
            asked: None,
            stated_at: Timestamp::default(),
            again_at: Timestamp::default(),
            is_due: true,
            missed_until: Timestamp::default(),
            left: Vec::new(),
        }
    }

    /// Whether another attempt may begin beside so many.
    fn has_room(&self, held: usize, now: Timestamp) -> bool {
        self.fence.is_some() && now < self.until && held < usize::try_from(self.most).unwrap_or(usize::MAX)
    }

    /// When the next statement is due, given how many are held and wanted.
    fn due(&self, held: usize, wants: u32) -> Option<Timestamp> {
        if let Some(asked) = self.asked {
            return Some(asked.since.plus(ANSWER_MILLIS));
        }
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let counted = usize::try_from(self.known.max(self.most)).unwrap_or(usize::MAX);
        let is_surplus = wants == 0 && counted > held;
        if self.is_due || is_surplus || !self.left.is_empty() {
            return Some(self.again_at.min(self.stated_at.plus(UNHEARD_MILLIS)));
        }
        if wants > 0 && (held >= most || self.fence.is_none()) {
            return Some(self.again_at);
        }
        (held > 0 || most > 0).then(|| self.stated_at.plus(RENEW_MILLIS))
    }
}

/// What is under a key across nodes.
#[derive(Debug, Default)]
pub(crate) struct SharedLimits {
    /// This node, where others share the store.
    me: Option<NodeId>,
    shards: u32,
    here: BTreeSet<ShardId>,
    theirs: BTreeMap<String, Vec<Theirs>>,
    orphans: BTreeMap<String, BTreeSet<AttemptId>>,
    quotas: BTreeMap<String, Vec<Quota>>,
    numbers: u64,
    /// What runs elsewhere under keys that this node owns is not known: nothing is allowed until it is.
    is_blind: bool,
    /// Keys under which this node began last, and not another.
    ours_last: BTreeSet<String>,
}

impl SharedLimits {
    /// Others share the store.
    pub(crate) fn share(&mut self, me: NodeId, shards: u32) {
        self.me = Some(me);
        self.shards = shards;
    }

    /// Whether that is this node.
    pub(crate) fn is_me(&self, node: NodeId) -> bool {
        self.me == Some(node)
    }

    /// The shards of this node, as they are now. What was known of keys whose owner changed is not known any more.
    pub(crate) fn here(&mut self, here: impl Iterator<Item = ShardId>) {
        self.here = here.collect();
        let shards = self.shards;
        let is_here = |key: &String| self.here.contains(&shard_of(owner_slot(key), shards));
        self.theirs.retain(|key, _| is_here(key));
        self.orphans.retain(|key, _| is_here(key));
        self.quotas.retain(|key, _| !is_here(key));
    }

    fn shard(&self, key: &str) -> ShardId {
        shard_of(owner_slot(key), self.shards)
    }

    /// Whether this node counts under a key.
    pub(crate) fn is_here(&self, key: &str) -> bool {
        self.me.is_none() || self.here.contains(&self.shard(key))
    }

    /// The owner of a key, where others share the store.
    pub(crate) fn owner(&self, key: &str) -> Option<ShardId> {
        self.me.map(|_| self.shard(key))
    }

    /// Whether it is not known what runs elsewhere under keys that this node owns.
    pub(crate) fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// It is not known any more, until the lane has read it.
    pub(crate) fn go_blind(&mut self) {
        self.is_blind = self.me.is_some();
    }

    /// How many attempts of others count under a key that this node owns.
    pub(crate) fn elsewhere(&self, key: &str) -> usize {
        let theirs = self.theirs.get(key).into_iter().flatten().map(Theirs::total);
        theirs.sum::<usize>() + self.orphans.get(key).map_or(0, BTreeSet::len)
    }

    /// Whether the next of a key that this node owns is another node's: one waits, and this one had the last.
    pub(crate) fn is_theirs_next(&self, key: &str, now: Timestamp) -> bool {
        let mut theirs = self.theirs.get(key).into_iter().flatten();
        self.ours_last.contains(key) && theirs.any(|theirs| theirs.waits_at(now))
    }

    /// Whether this node, and not another, began last under a key that this node owns.
    pub(crate) fn is_ours_last(&self, key: &str) -> bool {
        self.ours_last.contains(key)
    }

    /// This node begins one under a key that this node owns.
    pub(crate) fn took(&mut self, key: &str) {
        if self.me.is_some() {
            self.ours_last.insert(key.to_owned());
        }
    }

    // The owner's side.

    /// Takes down what another node says, and says how much of what counts under the key is its own, with how many others
    /// waited longer. None for what was said before something that is known already.
    pub(crate) fn take_demand(&mut self, demand: &LimitDemand, now: Timestamp, micros: u64) -> Option<usize> {
        let key = &demand.limit.key;
        let all = self.theirs.entry(key.clone()).or_default();
        let is_it = |known: &Theirs| known.node == demand.node && known.limit == demand.limit;
        let place = all.iter().position(is_it).unwrap_or_else(|| {
            all.push(Theirs {
                node: demand.node,
                limit: demand.limit.clone(),
                number: 0,
                holds: BTreeSet::new(),
                spare: 0,
                waits: None,
                heard_at: now,
                heard: micros,
            });
            all.len() - 1
        });
        let known = all.get_mut(place)?;
        if known.number >= demand.number {
            return None;
        }
        known.number = demand.number;
        known.holds = demand.holds.iter().copied().collect();
        known.spare = demand.spare;
        known.heard_at = now;
        known.heard = micros;
        known.waits = (demand.wants > 0).then(|| known.waits.unwrap_or(now));
        let since = known.waits;
        let waits = |other: &&Theirs| !is_it(other) && other.waits_at(now) && other.waits < since;
        let earlier = all.iter().filter(waits).count();
        let orphans = self.orphans.entry(key.clone()).or_default();
        orphans.extend(&demand.left);
        orphans.retain(|attempt| !demand.holds.contains(attempt));
        Some(earlier)
    }

    /// Allows a node that was heard so many more, or takes back what it has spare. Says how many it may have in all.
    pub(crate) fn grant(&mut self, demand: &LimitDemand, more: u32, over: u32) -> u32 {
        let is_it = |known: &&mut Theirs| known.node == demand.node && known.limit == demand.limit;
        let all = self.theirs.get_mut(&demand.limit.key);
        let Some(known) = all.into_iter().flatten().find(is_it) else {
            return 0;
        };
        let cut = known.spare.min(over);
        known.spare = known.spare - cut + more;
        if more >= demand.wants {
            known.waits = None;
        }
        if more > 0 {
            self.ours_last.remove(&demand.limit.key);
        }
        let total = u32::try_from(known.total()).unwrap_or(u32::MAX);
        total.saturating_sub(over - cut)
    }

    /// Whether another node than this one waits under a key.
    pub(crate) fn is_wanted(&self, demand: &LimitDemand, now: Timestamp) -> bool {
        let mut theirs = self.theirs.get(&demand.limit.key).into_iter().flatten();
        theirs.any(|theirs| theirs.node != demand.node && theirs.waits_at(now))
    }

    /// Forgets what nodes said that own nothing any more, unless they said it after that was looked up. Says whether any
    /// did.
    pub(crate) fn drop_gone(&mut self, owners: &BTreeSet<NodeId>, looked: u64) -> bool {
        let is_gone = |theirs: &Theirs| !owners.contains(&theirs.node) && theirs.heard < looked;
        let any = self.theirs.values().flatten().any(is_gone);
        for theirs in self.theirs.values_mut() {
            theirs.retain(|theirs| !is_gone(theirs));
        }
        any
    }

    /// The shards in which orphans run.
    pub(crate) fn orphaned(&self) -> BTreeSet<ShardId> {
        let attempts = self.orphans.values().flatten();
        attempts.map(|attempt| shard_of(attempt.slot(), self.shards)).collect()
    }

    /// What runs in shards of others under keys that this node owns: those that no node accounts for are orphans.
    pub(crate) fn found(&mut self, looked_at: &BTreeSet<ShardId>, running: &[(AttemptId, Vec<LimitUse>)]) {
        self.is_blind = false;
        let shards = self.shards;
        let is_fresh = |attempt: &AttemptId| looked_at.contains(&shard_of(attempt.slot(), shards));
        for orphans in self.orphans.values_mut() {
            orphans.retain(|attempt| !is_fresh(attempt));
        }
        for (attempt, limits) in running {
            for limit in limits {
                if !self.is_here(&limit.key) {
                    continue;
                }
                let mut theirs = self.theirs.get(&limit.key).into_iter().flatten();
                if !theirs.any(|theirs| theirs.holds.contains(attempt)) {
                    self.orphans.entry(limit.key.clone()).or_default().insert(*attempt);
                }
            }
        }
        self.orphans.retain(|_, orphans| !orphans.is_empty());
    }

    /// An attempt of a shard that went: another node has it, if it still runs.
    pub(crate) fn leave(&mut self, attempt: AttemptId, limits: &[LimitUse]) {
        for limit in limits {
            if self.me.is_none() {
                return;
            }
            if self.is_here(&limit.key) {
                self.orphans.entry(limit.key.clone()).or_default().insert(attempt);
            } else {
                self.quota(limit).left.push(attempt);
            }
        }
    }

    /// An attempt that this node has now is no orphan.
    pub(crate) fn claim(&mut self, attempt: AttemptId, limits: &[LimitUse]) {
        for limit in limits {
            if let Some(orphans) = self.orphans.get_mut(&limit.key) {
                orphans.remove(&attempt);
            }
        }
    }

    // The side of the node that asks.

    fn quota(&mut self, limit: &LimitUse) -> &mut Quota {
        let all = self.quotas.entry(limit.key.clone()).or_default();
        // The one that is asked for is kept last, where it can be had without a second look.
        match all.iter().position(|quota| quota.limit == *limit) {
            Some(place) => {
                let last = all.len() - 1;
                all.swap(place, last);
            }
            None => all.push(Quota::new(limit)),
        }
        let last = all.len() - 1;
        &mut all[last]
    }

    /// Something is under way under a limit: its home is to hear of it, where that is elsewhere.
    pub(crate) fn note(&mut self, limit: &LimitUse) {
        if !self.is_here(&limit.key) {
            self.quota(limit);
        }
    }

    /// Whether another attempt may begin beside `held` under a limit that another node owns.
    pub(crate) fn has_room(&mut self, limit: &LimitUse, held: usize, is_paced: bool, now: Timestamp) -> bool {
        let quota = self.quota(limit);
        quota.is_paced = is_paced;
        let has_room = quota.has_room(held, now);
        if !has_room {
            quota.missed_until = now.plus(MISSED_MILLIS);
        }
        has_room
    }

    /// The limits that another node owns that this node has had to do with.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &LimitUse> {
        self.quotas.values().flatten().map(|quota| &quota.limit)
    }

    /// Whether something misses it that stands in no line.
    pub(crate) fn is_missed(&self, limit: &LimitUse, now: Timestamp) -> bool {
        let mut quotas = self.quotas.get(&limit.key).into_iter().flatten();
        quotas.any(|quota| quota.limit == *limit && now < quota.missed_until)
    }

    /// The fence under which this node may begin attempts of a limit that another node owns.
    pub(crate) fn fence(&self, limit: &LimitUse) -> Option<Fence> {
        let mut quotas = self.quotas.get(&limit.key).into_iter().flatten();
        quotas.find(|quota| quota.limit == *limit)?.fence
    }

    /// An attempt under limits ended. What others wait for, and what has its pace, is not used again.
    pub(crate) fn ended(&mut self, limits: &[LimitUse]) {
        for limit in limits {
            let quotas = self.quotas.get_mut(&limit.key).into_iter().flatten();
            for quota in quotas.filter(|quota| quota.limit == *limit) {
                if quota.is_wanted || quota.is_paced {
                    quota.most = quota.most.saturating_sub(1);
                    quota.is_due = true;
                }
            }
        }
    }

    /// What this node says now to the owners of keys elsewhere; `state` tells of a limit which attempts are under way and
    /// how many more are wanted.
    pub(crate) fn demands(
        &mut self,
        now: Timestamp,
        state: impl Fn(&LimitUse) -> (Vec<AttemptId>, u32),
    ) -> Vec<LimitDemand> {
        let Some(node) = self.me else { return Vec::new() };
        let mut demands = Vec::new();
        for quota in self.quotas.values_mut().flatten() {
            let (holds, wants) = state(&quota.limit);
            if quota.due(holds.len(), wants).is_none_or(|due| due > now) {
                continue;
            }
            let held = u32::try_from(holds.len()).unwrap_or(u32::MAX);
            let spare = if wants > 0 { quota.most.saturating_sub(held) } else { 0 };
            quota.most = quota.most.min(held.saturating_add(spare));
            self.numbers += 1;
            let wants = wants.saturating_sub(spare).min(WANTS_MAX);
            let full = held.saturating_add(spare).saturating_add(wants);
            quota.known = quota.known.max(full);
            quota.asked = Some(Asked {
                number: self.numbers,
                since: now,
                held,
                left: quota.left.len(),
                full,
            });
            quota.stated_at = now;
            quota.is_due = false;
            demands.push(LimitDemand {
                node,
                number: self.numbers,
                limit: quota.limit.clone(),
                holds,
                left: quota.left.clone(),
                spare,
                wants,
            });
        }
        demands
    }

    /// When the next statement is due.
    pub(crate) fn next_demand(&self, state: impl Fn(&LimitUse) -> (Vec<AttemptId>, u32)) -> Option<Timestamp> {
        let quotas = self.quotas.values().flatten();
        let due = quotas.filter_map(|quota| {
            let (holds, wants) = state(&quota.limit);
            quota.due(holds.len(), wants)
        });
        due.min()
    }

    /// The answer to a statement. Says whether more may begin than before.
    pub(crate) fn answered(&mut self, received: &GrantReceived, now: Timestamp) -> bool {
        let GrantReceived { limit, number, allowed } = received;
        let Some(quotas) = self.quotas.get_mut(&limit.key) else {
            return false;
        };
        let Some(quota) = quotas.iter_mut().find(|quota| quota.limit == *limit) else {
            return false;
        };
        let Some(asked) = quota.asked.filter(|asked| asked.number == *number) else {
            return false;
        };
        quota.asked = None;
        let Some(allowed) = allowed else {
            quota.again_at = now.plus(UNHEARD_MILLIS);
            quota.is_due = true;
            return false;
        };
        quota.left.drain(..asked.left.min(quota.left.len()));
        quota.most = allowed.most;
        quota.known = allowed.most.max(asked.held);
        quota.fence = Some(fence_of(allowed));
        quota.until = asked.since.plus(ALLOWED_MILLIS);
        quota.is_wanted = allowed.is_wanted;
        // A node that has all that it wanted may want more at once.
        let is_full = allowed.most >= asked.full;
        quota.again_at = if is_full { now } else { now.plus(allowed.again_millis) };
        true
    }

    /// Grants do not count any more: the node that gave them may not be the owner any more.
    pub(crate) fn void(&mut self, shard: Option<ShardId>) -> bool {
        let mut any = false;
        let quotas = self.quotas.values_mut().flatten();
        let is_meant = |quota: &&mut Quota| shard.is_none_or(|shard| quota.fence.is_some_and(|f| f.shard == shard));
        for quota in quotas.filter(is_meant) {
            any = true;
            quota.most = 0;
            quota.fence = None;
            quota.asked = None;
            quota.is_due = true;
        }
        any
    }

    /// Forgets quotas that nothing is held, wanted or left under, once their home knows.
    pub(crate) fn tidy(&mut self, state: impl Fn(&LimitUse) -> (Vec<AttemptId>, u32)) {
        for quotas in self.quotas.values_mut() {
            quotas.retain(|quota| {
                let (holds, wants) = state(&quota.limit);
                let is_over = holds.is_empty() && wants == 0 && quota.most == 0 && quota.left.is_empty();
                let is_over = is_over && quota.known == 0;
                !is_over || quota.is_due || quota.asked.is_some()
            });
        }
        self.quotas.retain(|_, quotas| !quotas.is_empty());
    }
}
