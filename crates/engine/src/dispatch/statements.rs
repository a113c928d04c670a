//! The dispatcher's share of limits across nodes: what it says to the homes of keys, and what it answers as a home.

use std::collections::BTreeSet;

use sprag_core::action::{Action, LimitUse};
use sprag_core::ids::{AttemptId, NodeId};
use sprag_core::time::Timestamp;
use sprag_store::{Fence, ShardId};

use super::dispatcher::Dispatcher;
use super::permits::{Allowance, Lack};
use crate::homes::{Heard, Statement};

/// What this node has and wants under a limit whose home is elsewhere.
type Demand = (LimitUse, Vec<AttemptId>, u32);

impl Dispatcher {
    /// Others share the store: keys have homes.
    pub(crate) fn share(&mut self, me: NodeId, shards: u32) {
        self.permits.homes.share(me, shards);
    }

    /// Whether that is this node.
    pub(crate) fn is_me(&self, node: NodeId) -> bool {
        self.permits.homes.is_me(node)
    }

    /// The shards of this node changed.
    pub(crate) fn is_home(&mut self, here: impl Iterator<Item = ShardId>) {
        self.permits.homes.here(here);
        self.permits.note_all();
    }

    /// The fences that an attempt of an action carries for its keys; none if one of them is not to be had any more. `own`
    /// is that of a shard of this node.
    pub(crate) fn home_fences(&self, action: &Action, own: impl Fn(ShardId) -> Option<Fence>) -> Option<Vec<Fence>> {
        let homes = &self.permits.homes;
        let limits = action.body.limits.iter().filter(|limit| self.permits.is_limited(limit));
        let fences = limits.filter_map(|limit| {
            let home = homes.home(&limit.key)?;
            Some(own(home).or_else(|| homes.fence(limit)))
        });
        fences.collect()
    }

    /// What is said to the homes of keys elsewhere now.
    pub(crate) fn statements(&mut self, now: Timestamp) -> Vec<Statement> {
        let demands = self.demands(now);
        let homes = &mut self.permits.homes;
        homes.tidy(|limit| demand(&demands, limit));
        homes.statements(now, |limit| demand(&demands, limit))
    }

    /// When something is to be said to them.
    pub(super) fn next_statement(&self) -> Option<Timestamp> {
        if self.resting.is_held() {
            // Nothing is said while the lease may have run out; whoever renews it wakes the lane.
            return None;
        }
        let demands = self.demands(self.chosen_at);
        self.permits.homes.next_statement(|limit| demand(&demands, limit))
    }

    fn demands(&self, now: Timestamp) -> Vec<Demand> {
        let homes = &self.permits.homes;
        let limits = homes.limits().map(|limit| {
            let parked = self.parked.get(&Lack::Home(limit.key.clone())).into_iter().flatten();
            let lines = parked.filter_map(|name| self.lines.get(name));
            let waiting: usize = lines
                .filter(|line| line.limits.contains(limit))
                .map(super::line::Line::len)
                .sum();
            let waiting = waiting.max(usize::from(homes.is_missed(limit, now)));
            let wants = u32::try_from(waiting).unwrap_or(u32::MAX);
            (limit.clone(), self.permits.under(limit).collect(), wants)
        });
        limits.collect()
    }

    /// The home of a key answered, or could not be asked.
    pub(crate) fn heard(&mut self, heard: &Heard, now: Timestamp) {
        if self.permits.homes.answered(heard, now) {
            self.unpark(&Lack::Home(heard.limit.key.clone()));
        }
    }

    /// Another node says what it has and wants under a key whose home is here.
    pub(crate) fn allow(&mut self, said: &Statement, now: Timestamp, micros: u64) -> Allowance {
        let waits_here = Lack::Key(said.limit.key.clone());
        let allowed = self
            .permits
            .allow(said, self.parked.contains_key(&waits_here), now, micros);
        self.unpark(&waits_here);
        allowed
    }

    /// Whoever allowed something as the home of that shard may not be it any more. Says whether anything was.
    pub(crate) fn void(&mut self, shard: ShardId) -> bool {
        self.permits.homes.void(Some(shard))
    }

    /// Forgets what nodes said that own nothing any more. Says whether any did.
    pub(crate) fn drop_gone(&mut self, owners: &BTreeSet<NodeId>, looked: u64) -> bool {
        self.permits.homes.drop_gone(owners, looked)
    }

    /// Nothing is allowed under keys whose home is here until it is known what runs elsewhere.
    pub(crate) fn go_blind(&mut self) {
        self.permits.homes.go_blind();
    }

    /// Whether that is not known.
    pub(crate) fn is_blind(&self) -> bool {
        self.permits.homes.is_blind()
    }

    /// The shards in which attempts run that nobody accounts for.
    pub(crate) fn orphaned(&self) -> BTreeSet<ShardId> {
        self.permits.homes.orphaned()
    }

    /// What runs in shards of others. Lines that wait for a key are looked at again.
    pub(crate) fn found(&mut self, looked_at: &BTreeSet<ShardId>, running: &[(AttemptId, Vec<LimitUse>)]) {
        self.permits.homes.found(looked_at, running);
        self.unpark_where(|lack| matches!(lack, Lack::Key(_) | Lack::Home(_)));
    }
}

fn demand(demands: &[Demand], limit: &LimitUse) -> (Vec<AttemptId>, u32) {
    let found = demands.iter().find(|(of, ..)| of == limit);
    found.map_or((Vec::new(), 0), |(_, holds, wants)| (holds.clone(), *wants))
}
