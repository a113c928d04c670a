//! Limits per key across nodes: what a node says to the home of a key, and what it is allowed in return.
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
pub use sprag_wire::{LimitDemand as Statement, LimitGrant as Allowed};

use crate::jobs::dead_letters::{Dealt, Letters};

/// The slot whose shard is the home of a limit's key.
pub fn home_of(key: &str) -> Slot {
    Slot::of_key("limit", key)
}

/// What a commit carries that begins an attempt under a grant.
pub(crate) fn fence_of(grant: &Allowed) -> Fence {
    Fence {
        shard: ShardId(grant.shard),
        epoch: grant.epoch,
    }
}

/// The answer to a statement, for the lane that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The limit it was about.
    pub limit: LimitUse,
    /// Which statement.
    pub number: u64,
    /// What is allowed; none where nobody could be asked.
    pub allowed: Option<Allowed>,
}

/// The way to other nodes. `advertise` is where one is reached, and `token` what nodes show each other.
pub trait Peers: Send + Sync {
    /// Says something to the node at the home of a limit, and waits for its answer.
    fn state<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        statement: &'a Statement,
    ) -> BoxFuture<'a, Result<Allowed, String>>;

    /// Has a node deal with dead letters that a job of this one is about, and waits for its answer.
    fn deal<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        letters: &'a Letters,
    ) -> BoxFuture<'a, Result<Vec<Dealt>, String>>;
}
