//! Limits per key across nodes: what a node says to the owner of a key, and what it is allowed in return.
//!
//! A key has a home: the shard of its hash. The owner of that shard counts the attempts of all nodes under it and allows
//! each so many at once. A node that lives elsewhere states what it holds and how many more it wants; the answer says how
//! many it may have in all. What always holds: an attempt under a key begins only in a commit that carries the fence of
//! the key's home, so whatever an owner allowed is void once another has taken its place and has read what runs.

pub(crate) mod demand;
mod overrides;
pub(crate) mod owner;

use sprag_core::action::{BoxFuture, LimitUse};
use sprag_core::ids::Slot;
use sprag_store::{Fence, ShardId};

pub(crate) use self::overrides::define;
pub use self::overrides::{LimitKey, LimitView, Numbers, Override};
pub use sprag_wire::{LimitDemand, LimitGrant};

use crate::jobs::dead_letters::{LettersToRetry, SettledLetter};

/// The slot whose shard is the owner of a limit's key.
pub fn owner_slot(key: &str) -> Slot {
    Slot::of_key("limit", key)
}

/// What a commit carries that begins an attempt under a grant.
pub(crate) fn fence_of(grant: &LimitGrant) -> Fence {
    Fence {
        shard: ShardId(grant.shard),
        epoch: grant.epoch,
    }
}

/// The answer to a demand, for the lane that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantReceived {
    /// The limit it was about.
    pub limit: LimitUse,
    /// Which demand.
    pub number: u64,
    /// What is allowed; none where the owner could not be asked.
    pub allowed: Option<LimitGrant>,
}

/// The way to other nodes. `advertise` is where one is reached, and `token` what nodes show each other.
pub trait Peers: Send + Sync {
    /// Says something to the node at the owner of a limit, and waits for its answer.
    fn demand<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        demand: &'a LimitDemand,
    ) -> BoxFuture<'a, Result<LimitGrant, String>>;

    /// Has a node deal with dead letters that a job of this one is about, and waits for its answer.
    fn settle<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        letters: &'a LettersToRetry,
    ) -> BoxFuture<'a, Result<Vec<SettledLetter>, String>>;
}
