//! Shards and nodes in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::clock::Clock;
use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;

use super::Memory;
use super::state::State;
use crate::nodes::{Beat, Claimed, GONE_KEPT_MILLIS, Node, Nodes, Shard, View};
use crate::records::{Action, Job, Plan, Timer};
use crate::traits::{Error, Fence, ShardId, shard_of};

/// Who owns what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    token: String,
    nodes: BTreeMap<NodeId, Node>,
    /// Where each of them is.
    places: BTreeMap<NodeId, Option<String>>,
    shards: Vec<Shard>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self::of(1)
    }
}

impl Cluster {
    /// So many shards without an owner.
    pub(super) fn of(shards: u32) -> Self {
        let shard = |number| Shard {
            id: ShardId(number),
            owner: None,
            epoch: 0,
        };
        Self {
            token: String::new(),
            nodes: BTreeMap::new(),
            places: BTreeMap::new(),
            shards: (0..shards).map(shard).collect(),
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.shards.len()).unwrap_or(u32::MAX)
    }

    fn shard(&mut self, shard: ShardId) -> Option<&mut Shard> {
        self.shards.get_mut(usize::try_from(shard.0).ok()?)
    }

    /// Whether a fence is the present one.
    pub(super) fn holds(&self, fence: Fence) -> bool {
        let known = usize::try_from(fence.shard.0).ok().and_then(|at| self.shards.get(at));
        known.is_some_and(|known| known.epoch == fence.epoch)
    }

    /// Another owner takes a shard, even from a live owner.
    pub(super) fn raise(&mut self, shard: ShardId) -> Option<Fence> {
        let known = self.shard(shard)?;
        known.epoch += 1;
        Some(Fence {
            shard,
            epoch: known.epoch,
        })
    }

    fn beat(&mut self, beat: &Beat, now: Timestamp) -> View {
        let Beat {
            node,
            advertise,
            version,
            place,
            lease_millis,
            token,
            is_leaving,
        } = beat.clone();
        if self.token.is_empty() {
            self.token = token;
        }
        let joined_at = if let Some(known) = self.nodes.get(&node) {
            known.joined_at
        } else {
            self.oust(place.as_deref(), now);
            now
        };
        self.places.insert(node, place);
        self.nodes.insert(
            node,
            Node {
                id: node,
                advertise,
                version,
                joined_at,
                lease_until: now.plus(lease_millis),
                is_leaving,
            },
        );
        let shards = &self.shards;
        let owns = |id: &NodeId| shards.iter().any(|shard| shard.owner == Some(*id));
        self.nodes
            .retain(|id, node| node.lease_until.plus(GONE_KEPT_MILLIS) > now || owns(id));
        let nodes = &self.nodes;
        self.places.retain(|id, _| nodes.contains_key(id));
        View {
            now,
            token: self.token.clone(),
            nodes: self.nodes.values().cloned().collect(),
            shards: self.shards.clone(),
        }
    }

    /// Another node is in that place now.
    fn oust(&mut self, place: Option<&str>, now: Timestamp) {
        let Self { nodes, places, .. } = self;
        let is_there = |id: &NodeId| place.is_some() && places.get(id).and_then(Option::as_deref) == place;
        for node in nodes.values_mut().filter(|node| is_there(&node.id) && !node.is_leaving) {
            node.lease_until = node.lease_until.min(now);
        }
    }

    fn is_alive(&self, node: NodeId, now: Timestamp) -> bool {
        self.nodes.get(&node).is_some_and(|known| known.is_alive(now))
    }

    fn claim(&mut self, node: NodeId, shard: ShardId, now: Timestamp) -> Option<Claimed> {
        let owner = self.shard(shard)?.owner.filter(|owner| *owner != node);
        if owner.is_some_and(|owner| self.is_alive(owner, now)) {
            return None;
        }
        let former = owner.and_then(|owner| self.nodes.get(&owner).cloned());
        let fence = self.raise(shard)?;
        self.shard(shard)?.owner = Some(node);
        Some(Claimed { fence, former })
    }

    fn release(&mut self, node: NodeId, fence: Fence) {
        if let Some(known) = self.shard(fence.shard)
            && known.owner == Some(node)
            && known.epoch == fence.epoch
        {
            known.owner = None;
        }
    }

    fn leave(&mut self, node: NodeId) {
        self.nodes.remove(&node);
        for shard in self.shards.iter_mut().filter(|shard| shard.owner == Some(node)) {
            shard.owner = None;
        }
    }
}

/// The store in memory, as the nodes on it see each other.
pub struct MemoryNodes {
    memory: Memory,
    clock: Arc<dyn Clock>,
}

impl MemoryNodes {
    pub(super) fn new(memory: Memory, clock: Arc<dyn Clock>) -> Self {
        Self { memory, clock }
    }
}

impl Nodes for MemoryNodes {
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error> {
        Ok(self.memory.state().cluster.beat(beat, self.clock.now()))
    }

    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        let now = self.clock.now();
        let cluster = &mut self.memory.state().cluster;
        if !cluster.is_alive(node, now) {
            return Ok(Vec::new());
        }
        let claimed = shards.iter().filter_map(|shard| cluster.claim(node, *shard, now));
        Ok(claimed.collect())
    }

    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error> {
        let cluster = &mut self.memory.state().cluster;
        for fence in fences {
            cluster.release(node, *fence);
        }
        Ok(())
    }

    fn leave(&mut self, node: NodeId) -> Result<(), Error> {
        self.memory.state().cluster.leave(node);
        Ok(())
    }
}

/// The records, as a question about one shard sees them.
#[derive(Clone, Copy)]
pub(super) struct ShardView<'a> {
    pub(super) all: &'a State,
    shard: ShardId,
    shards: u32,
}

impl<'a> ShardView<'a> {
    pub(super) fn of(all: &'a State, shard: ShardId) -> Self {
        let shards = all.cluster.count();
        Self { all, shard, shards }
    }

    /// Whether what has this slot is in the shard.
    pub(super) fn has(self, slot: Slot) -> bool {
        shard_of(slot, self.shards) == self.shard
    }

    /// The open actions whose status is one of these.
    pub(super) fn open_with(self, statuses: &[u8]) -> impl Iterator<Item = &'a Action> {
        let open = self.all.open_with(statuses);
        open.filter(move |action| self.has(action.execution.slot()))
    }

    pub(super) fn timers(self) -> impl Iterator<Item = &'a Timer> {
        let timers = self.all.timers.values();
        timers.filter(move |timer| self.has(timer.key.execution.slot()))
    }

    /// Plans, by id.
    pub(super) fn plans(self) -> impl Iterator<Item = &'a Plan> {
        self.all.plans.values().filter(move |plan| self.has(plan.id.slot()))
    }

    /// Jobs, by id.
    pub(super) fn jobs(self) -> impl DoubleEndedIterator<Item = &'a Job> {
        self.all.jobs.values().filter(move |job| self.has(job.id.slot()))
    }
}
