//! Nodes on one database: who is alive, and who owns which shard.
//!
//! A node is alive while its lease runs, by the database's clock alone. A shard has one owner at a time and
//! an epoch that every change of owner raises; commits carry it, so a node that lost a shard without knowing writes nothing.
//! What always holds, whatever nodes believe: a shard is never taken from a node whose lease runs, and no two nodes are
//! given the same epoch of a shard.

pub mod assignment;
pub mod home;

use sprag_core::ids::NodeId;
use sprag_core::time::Timestamp;

use crate::traits::{Error, Fence, ShardId};

/// How long a node that is gone stays listed once it owns nothing, in milliseconds.
pub const GONE_KEPT_MILLIS: u64 = 60_000;

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Whose.
    pub node: NodeId,
    /// Where other nodes reach it.
    pub advertise: String,
    /// What it runs.
    pub version: String,
    /// Where it is, such that no other process can be there while it is; none where that cannot be said.
    pub place: Option<String>,
    /// How long it may be counted on from now, in milliseconds.
    pub lease_millis: u64,
    /// What nodes show each other; the first to be proposed counts for all.
    pub token: String,
    /// Whether it is about to leave: it takes nothing more, and others should have what it has.
    pub is_leaving: bool,
}

/// All nodes and shards, as of one instant.
#[derive(Clone, PartialEq, Eq)]
pub struct View {
    /// The database's time.
    pub now: Timestamp,
    /// What nodes show each other. A secret.
    pub token: String,
    /// All nodes, by id, those that are gone for a while included.
    pub nodes: Vec<Node>,
    /// All shards, by number.
    pub shards: Vec<Shard>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            now,
            token: _,
            nodes,
            shards,
        } = self;
        f.debug_struct("View")
            .field("now", now)
            .field("nodes", nodes)
            .field("shards", shards)
            .finish_non_exhaustive()
    }
}

impl View {
    /// The nodes whose lease runs, by id.
    pub fn live(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_alive(self.now))
    }

    /// Those of them that shards are due to: all but those about to leave.
    pub fn staying(&self) -> impl Iterator<Item = &Node> {
        self.live().filter(|node| !node.is_leaving)
    }

    /// A node whose lease runs.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.live().find(|node| node.id == id)
    }

    /// Who owns a shard, if they are alive.
    pub fn owner(&self, shard: ShardId) -> Option<&Node> {
        let known = self.shards.get(usize::try_from(shard.0).ok()?)?;
        self.node(known.owner?)
    }
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Which.
    pub id: NodeId,
    /// Where other nodes reach it.
    pub advertise: String,
    /// What it runs.
    pub version: String,
    /// When it was first seen.
    pub joined_at: Timestamp,
    /// Until when it may be counted on.
    pub lease_until: Timestamp,
    /// Whether it is about to leave.
    pub is_leaving: bool,
}

impl Node {
    /// Whether its lease runs.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.lease_until > now
    }
}

/// One shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub id: ShardId,
    /// Whose, alive or not; none when it was released.
    pub owner: Option<NodeId>,
    /// Raised by every change of owner.
    pub epoch: u64,
}

/// A shard that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The right to write to it.
    pub fence: Fence,
    /// The node it was taken from because its lease had run out; none where it was free.
    pub former: Option<Node>,
}

/// What nodes on one database ask it about each other. Blocking: a member has a thread of its own.
pub trait Nodes: Send {
    /// Renews the lease of a node, which joins by its first; says who else there is and who owns what. One that joins
    /// in the place of another is all that is there, so the other's lease is over: a process that was killed and
    /// started again need not wait for it. One that is about to leave answers for no place any more.
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error>;

    /// Takes those of these shards that may be taken: that have no owner, or one whose lease has run out, or this one.
    /// Raises the epoch of each. A node whose own lease has run out takes nothing.
    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error>;

    /// Gives up those of these that are still this node's at this epoch.
    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error>;

    /// Gives up everything, and is no longer counted on.
    fn leave(&mut self, node: NodeId) -> Result<(), Error>;
}
