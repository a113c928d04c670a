//! The shards that a lane may write to, each with its epoch.
//!
//! A lane that has the whole store to itself owns its one shard from the beginning, and losing it ends the lane. A lane
//! that shares a database with other nodes owns the shards that its member component claims, and hands them over again.

use std::borrow::Cow;

use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::traits::shard_of;
use sprag_store::{Fence, Mutation, ShardId};

/// Whether a lane has a store to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tenure {
    /// The store has one shard, and it is this lane's.
    #[default]
    Whole,
    /// The store has so many shards, and others own some of them.
    Shared {
        /// How many.
        shards: u32,
        /// Which of those who share it this one is, where limits per key are counted across them. Without it, each counts
        /// for itself.
        node: Option<NodeId>,
    },
}

/// One shard that is owned.
#[derive(Clone, Copy, Debug)]
struct OwnedShard {
    /// Whether the node it was taken from had run only briefly.
    after_short_run: bool,
    /// It is being let go: then at the latest, it is.
    until: Option<Timestamp>,
}

/// The shards of a lane, by number.
#[derive(Debug)]
pub(crate) struct Shards {
    tenure: Tenure,
    /// In the same order as `owned`, so that a commit need not gather them.
    fences: Vec<Fence>,
    owned: Vec<OwnedShard>,
    /// Whether other processes write to the store too.
    pub(crate) is_shared: bool,
    /// Until when the lease of this node surely runs, in microseconds of the clock, where other nodes share the store.
    pub(crate) lease_until: u64,
    /// Shards that this lane was given and could not read.
    pub(crate) unreadable: Vec<Fence>,
}

impl Shards {
    pub(crate) fn none(tenure: Tenure) -> Self {
        Self {
            tenure,
            fences: Vec::new(),
            owned: Vec::new(),
            is_shared: tenure != Tenure::Whole,
            lease_until: 0,
            unreadable: Vec::new(),
        }
    }

    /// How many shards there are on all nodes.
    pub(crate) fn shards(&self) -> u32 {
        match self.tenure {
            Tenure::Whole => 1,
            Tenure::Shared { shards, .. } => shards,
        }
    }

    /// Whether this node can be sure that its lease runs at `micros` of the clock.
    pub(crate) fn is_in_touch(&self, micros: u64) -> bool {
        self.is_whole() || micros < self.lease_until
    }

    /// Whether no other node can own anything.
    pub(crate) fn is_whole(&self) -> bool {
        self.tenure == Tenure::Whole
    }

    pub(crate) fn add(&mut self, fence: Fence, after_short_run: bool) {
        let owned = OwnedShard {
            after_short_run,
            until: None,
        };
        self.remove(fence.shard);
        let place = self.fences.partition_point(|known| known.shard < fence.shard);
        self.fences.insert(place, fence);
        self.owned.insert(place, owned);
    }

    pub(crate) fn remove(&mut self, shard: ShardId) -> Option<Fence> {
        let place = self.place(shard).ok()?;
        self.owned.remove(place);
        Some(self.fences.remove(place))
    }

    fn place(&self, shard: ShardId) -> Result<usize, usize> {
        self.fences.binary_search_by_key(&shard, |fence| fence.shard)
    }

    fn owned(&self, shard: ShardId) -> Option<&OwnedShard> {
        self.owned.get(self.place(shard).ok()?)
    }

    pub(crate) fn has(&self, shard: ShardId) -> bool {
        self.place(shard).is_ok()
    }

    /// The right to write to a shard, where it is owned.
    pub(crate) fn fence(&self, shard: ShardId) -> Option<Fence> {
        self.fences.get(self.place(shard).ok()?).copied()
    }

    /// Whether what has this slot may be decided on here.
    pub(crate) fn owns(&self, slot: Slot) -> bool {
        self.is_whole() || self.has(shard_of(slot, self.shards()))
    }

    /// Whether no other node owns anything.
    pub(crate) fn owns_everything(&self) -> bool {
        self.is_whole() || u32::try_from(self.fences.len()).is_ok_and(|owned| owned >= self.shards())
    }

    /// How many of how many shards are owned.
    pub(crate) fn share(&self) -> (u32, u32) {
        let owned = u32::try_from(self.fences.len()).unwrap_or(u32::MAX);
        (owned, self.shards())
    }

    /// Whether definitions, switches, limits and jobs are decided on here.
    pub(crate) fn owns_control(&self) -> bool {
        self.has(CONTROL)
    }

    /// All that are owned, by number.
    pub(crate) fn all(&self) -> impl Iterator<Item = ShardId> {
        self.fences.iter().map(|fence| fence.shard)
    }

    /// The first that is owned, from this one on.
    pub(crate) fn from(&self, shard: ShardId) -> Option<ShardId> {
        let place = self.place(shard).unwrap_or_else(|place| place);
        self.fences.get(place).map(|fence| fence.shard)
    }

    /// Whether the node that a shard was taken from had run only briefly.
    pub(crate) fn after_short_run(&self, slot: Slot) -> bool {
        let held = self.owned(shard_of(slot, self.shards()));
        held.is_some_and(|held| held.after_short_run)
    }

    /// A slot whose shard is owned, near to one that was drawn from all of them; none where nothing is.
    pub(crate) fn near(&self, drawn: Slot) -> Option<Slot> {
        if self.owns(drawn) {
            return Some(drawn);
        }
        let shards = self.shards();
        let place = usize::from(drawn.0).checked_rem(self.fences.len())?;
        let shard = u64::from(self.fences.get(place)?.shard.0);
        let first = (shard << 16).div_ceil(u64::from(shards));
        let next = ((shard + 1) << 16).div_ceil(u64::from(shards));
        let slot = first + u64::from(drawn.0) % (next - first).max(1);
        u16::try_from(slot).ok().map(Slot)
    }

    /// The fences that a commit of these must carry: those of the shards it touches, and `more`. One that is not owned has the epoch
    /// that no shard ever has, so that the store refuses it.
    pub(crate) fn fences(&self, mutations: &[Mutation], more: &[Fence]) -> Cow<'_, [Fence]> {
        if self.is_whole() {
            return Cow::Borrowed(&self.fences);
        }
        let shards = self.shards();
        let mut touched: Vec<ShardId> = mutations.iter().filter_map(|mutation| mutation.home(shards)).collect();
        touched.sort_unstable();
        touched.dedup();
        let never = |shard| Fence { shard, epoch: u64::MAX };
        let fence = |shard| self.fence(shard).unwrap_or_else(|| never(shard));
        let mut fences: Vec<Fence> = touched.into_iter().map(fence).chain(more.iter().copied()).collect();
        fences.sort_unstable_by_key(|fence| (fence.shard, fence.epoch));
        fences.dedup();
        Cow::Owned(fences)
    }

    /// A shard is to be let go once nothing of it is under way, and then at the latest. Says whether it is owned.
    pub(crate) fn leave(&mut self, shard: ShardId, until: Timestamp) -> bool {
        let place = self.place(shard).ok();
        let held = place.and_then(|place| self.owned.get_mut(place));
        let is_owned = held.is_some();
        if let Some(held) = held {
            held.until = Some(held.until.map_or(until, |known| known.min(until)));
        }
        is_owned
    }

    /// A shard that was to be let go stays after all. Says whether it was.
    pub(crate) fn stay(&mut self, shard: ShardId) -> bool {
        let place = self.place(shard).ok();
        let held = place.and_then(|place| self.owned.get_mut(place));
        held.is_some_and(|held| held.until.take().is_some())
    }

    /// Those that are to be let go, each with when at the latest.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = (ShardId, Timestamp)> {
        let all = self.fences.iter().zip(&self.owned);
        all.filter_map(|(fence, held)| Some((fence.shard, held.until?)))
    }

    /// Those of which something may begin.
    pub(crate) fn serving(&self) -> impl Iterator<Item = ShardId> {
        let all = self.fences.iter().zip(&self.owned);
        all.filter(|(_, held)| held.until.is_none())
            .map(|(fence, _)| fence.shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_near_any_other_is_owned_where_something_is() {
        for shards in [2, 3, 64, 4_096, 65_536] {
            let mut owned = Shards::none(Tenure::Shared { shards, node: None });
            assert_eq!(owned.near(Slot(7)), None);
            for shard in [0, shards / 2, shards - 1] {
                let fence = Fence {
                    shard: ShardId(shard),
                    epoch: 1,
                };
                owned.add(fence, false);
            }
            for drawn in 0..=u16::MAX {
                let slot = owned.near(Slot(drawn)).unwrap();
                assert!(owned.owns(slot), "{drawn} of {shards} led to {slot:?}");
            }
        }
    }
}
