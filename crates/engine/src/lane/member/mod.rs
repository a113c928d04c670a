//! A member: this node among those that share a database.
//!
//! It renews the node's lease, sees who else is alive, computes who should own what as all others do, claims what is
//! due to this node and free, and tells the lane what to take up and what to hand over. [`Member::beat`] is one bounded
//! step and [`Service`] only the loop around it, so the simulator drives the same code.
//!
//! What always holds: the lane learns what it lost before it may believe that its lease runs; a shard is released only
//! after the lane has let go of it.

mod service;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::clock::Clock;
use sprag_core::ids::NodeId;
use sprag_store::assignment::assign;
use sprag_store::nodes::{Beat, Claimed, Nodes, Shard, View};
use sprag_store::{Error, Fence, ShardId};

pub use service::Service;
pub(crate) use service::Word;
pub use whereabouts::{Place, Whereabouts};

/// How a node takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Who it is: another one at every start.
    pub id: NodeId,
    /// Where other nodes reach it.
    pub advertise: String,
    /// What it runs.
    pub version: String,
    /// Where it is, such that no other process can be there while it is; none where that cannot be said.
    pub place: Option<String>,
    /// What nodes show each other, where none is known yet: must be unpredictable.
    pub token: String,
    /// How long it may be counted on after a heartbeat, in milliseconds.
    pub lease_millis: u64,
    /// How often it gives one, in milliseconds.
    pub beat_millis: u64,
    /// How long after one it still starts effects, in milliseconds: less than the lease, by its own clock.
    pub patience_millis: u64,
    /// How long what is under way of a shard that moves on may take to end, in milliseconds.
    pub grace_millis: u64,
}

/// How long a node may be counted on after a heartbeat, in milliseconds.
pub const LEASE_MILLIS: u64 = 10_000;
/// How often it gives one, in milliseconds.
pub const BEAT_MILLIS: u64 = 2_000;
/// How long after one it still starts effects, in milliseconds.
pub const PATIENCE_MILLIS: u64 = 8_000;
/// How often it looks again while others let go of what is due to it, in milliseconds.
const IMPATIENT_MILLIS: u64 = 200;
/// How long what is under way of a shard that moves on may take to end, in milliseconds.
pub const GRACE_MILLIS: u64 = 10_000;

impl Options {
    /// With the times of the design.
    pub fn new(id: NodeId, advertise: impl Into<String>, version: impl Into<String>, token: impl Into<String>) -> Self {
        Self {
            id,
            advertise: advertise.into(),
            version: version.into(),
            place: None,
            token: token.into(),
            lease_millis: LEASE_MILLIS,
            beat_millis: BEAT_MILLIS,
            patience_millis: PATIENCE_MILLIS,
            grace_millis: GRACE_MILLIS,
        }
    }

    fn beat(&self) -> Beat {
        Beat {
            node: self.id,
            advertise: self.advertise.clone(),
            version: self.version.clone(),
            place: self.place.clone(),
            lease_millis: self.lease_millis,
            token: self.token.clone(),
            is_leaving: false,
        }
    }
}

/// What a member tells its lane after a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Shards that others have by now.
    pub lost: Vec<ShardId>,
    /// Shards that are this node's from now on.
    pub acquired: Vec<Claimed>,
    /// Shards that others should have: to be let go of when nothing of them is under way.
    pub hand_over: Vec<ShardId>,
    /// Shards that were to be handed over and stay after all.
    pub keep: Vec<ShardId>,
    /// How long what is under way of a shard that is handed over may take, in milliseconds.
    pub grace_millis: u64,
    /// Until when the lease surely runs, in microseconds of this node's clock.
    pub in_touch_until: u64,
    /// Nodes that own any shard.
    pub owners: BTreeSet<NodeId>,
    /// When that was asked, in microseconds of this node's clock.
    pub looked: u64,
}

/// One shard of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    epoch: u64,
    /// The lane was told to hand it over.
    is_leaving: bool,
}

/// This node among the others.
pub struct Member {
    options: Options,
    nodes: Box<dyn Nodes>,
    clock: Arc<dyn Clock>,
    holds: BTreeMap<ShardId, Held>,
    whereabouts: Whereabouts,
    /// It takes nothing more: its lane ends what is under way.
    is_leaving: bool,
    /// Others are about to let go of what is due to it.
    is_waiting: bool,
}

impl Member {
    /// A node that has not joined yet: it does so by its first heartbeat.
    pub fn new(options: Options, nodes: Box<dyn Nodes>, clock: Arc<dyn Clock>) -> Self {
        let whereabouts = Whereabouts::new(options.id);
        Self {
            options,
            nodes,
            clock,
            holds: BTreeMap::new(),
            whereabouts,
            is_leaving: false,
            is_waiting: false,
        }
    }

    /// Who it is.
    pub fn id(&self) -> NodeId {
        self.options.id
    }

    /// Where everything is, as of the last heartbeat.
    pub fn whereabouts(&self) -> Whereabouts {
        self.whereabouts.clone()
    }

    /// Renews the lease and says what follows for the lane.
    pub fn beat(&mut self) -> Result<Orders, Error> {
        // From before the question: however long the answer takes, the lease runs longer than this node believes.
        let began = self.clock.micros();
        let beat = Beat {
            is_leaving: self.is_leaving,
            ..self.options.beat()
        };
        let view = self.nodes.heartbeat(&beat)?;
        if let Some(millis) = self.clock.follow(view.now) {
            tracing::warn!(millis, "clock-jumped: this node's time follows the database's");
        }
        let mut orders = Orders {
            lost: self.lost(&view),
            grace_millis: self.options.grace_millis,
            in_touch_until: began.saturating_add(self.options.patience_millis.saturating_mul(1_000)),
            owners: view.shards.iter().filter_map(|shard| shard.owner).collect(),
            looked: began,
            ..Orders::default()
        };
        let live: Vec<NodeId> = view.staying().map(|node| node.id).collect();
        let owners: Vec<Option<NodeId>> = view.shards.iter().map(|shard| shard.owner).collect();
        let (mut wanted, mut stray) = (Vec::new(), Vec::new());
        for (shard, due) in view.shards.iter().zip(assign(&live, &owners)) {
            let is_due = due == Some(self.options.id);
            match self.holds.get_mut(&shard.id) {
                None if is_due => wanted.push(shard.id),
                None if shard.owner == Some(self.options.id) => stray.push(Fence {
                    shard: shard.id,
                    epoch: shard.epoch,
                }),
                Some(held) if is_due && held.is_leaving => {
                    held.is_leaving = false;
                    orders.keep.push(shard.id);
                }
                Some(held) if !is_due && !held.is_leaving => {
                    held.is_leaving = true;
                    orders.hand_over.push(shard.id);
                }
                _ => {}
            }
        }
        // What was claimed or released while the answer was lost is this node's without its knowledge: it is taken anew, or
        // released again.
        // The lease was renewed all the same: what else follows from the view is not to be lost with these answers.
        if !stray.is_empty()
            && let Err(error) = self.nodes.release(self.options.id, &stray)
        {
            tracing::warn!(%error, "stray shards could not be released: the next heartbeat tries again");
        }
        orders.acquired = self.claim(&view, &wanted).unwrap_or_else(|error| {
            tracing::warn!(%error, "shards could not be claimed: the next heartbeat tries again");
            Vec::new()
        });
        self.is_waiting = orders.acquired.len() < wanted.len();
        self.show(view, &orders);
        Ok(orders)
    }

    /// The shards that this node held and others have by now.
    fn lost(&mut self, view: &View) -> Vec<ShardId> {
        let is_ours = |id: ShardId, held: &Held| {
            let is_it = |shard: &Shard| shard.owner == Some(self.options.id) && shard.epoch == held.epoch;
            let found = view.shards.iter().find(|shard| shard.id == id);
            found.is_some_and(is_it)
        };
        let gone = self.holds.iter().filter(|(id, held)| !is_ours(**id, held));
        let lost: Vec<ShardId> = gone.map(|(id, _)| *id).collect();
        for shard in &lost {
            self.holds.remove(shard);
        }
        lost
    }

    /// Takes those that are free: asking for others would only cost a question.
    fn claim(&mut self, view: &View, wanted: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        let me = self.options.id;
        let is_free = |shard: &&ShardId| view.owner(**shard).is_none_or(|owner| owner.id == me);
        let free: Vec<ShardId> = wanted.iter().filter(is_free).copied().collect();
        if free.is_empty() {
            return Ok(Vec::new());
        }
        let claimed = self.nodes.claim(me, &free)?;
        for Claimed { fence, .. } in &claimed {
            let held = Held {
                epoch: fence.epoch,
                is_leaving: false,
            };
            self.holds.insert(fence.shard, held);
        }
        Ok(claimed)
    }

    /// Shows where everything is, this node's newest shards included.
    fn show(&self, mut view: View, orders: &Orders) {
        for Claimed { fence, .. } in &orders.acquired {
            let mut shards = view.shards.iter_mut();
            if let Some(shard) = shards.find(|shard| shard.id == fence.shard) {
                shard.owner = Some(self.options.id);
                shard.epoch = fence.epoch;
            }
        }
        self.whereabouts.show(view);
    }

    /// The lane let go of these: the nodes that should have them may take them.
    pub fn released(&mut self, fences: &[Fence]) -> Result<(), Error> {
        for fence in fences {
            self.holds.remove(&fence.shard);
        }
        self.nodes.release(self.options.id, fences)
    }

    /// From the next heartbeat on nothing is due to this node: its lane is about to end.
    pub fn prepare_to_leave(&mut self) {
        self.is_leaving = true;
    }

    /// Gives up everything: the lane has ended.
    pub fn leave(&mut self) -> Result<(), Error> {
        self.holds.clear();
        self.nodes.leave(self.options.id)
    }

    /// Milliseconds until the next heartbeat: sooner where a lease that was not renewed runs out before.
    pub fn rest_millis(&self) -> u64 {
        let view = self.whereabouts.view();
        let runs_out = view.iter().flat_map(|view| {
            let others = view.live().filter(|node| node.id != self.options.id);
            others.map(|node| node.lease_until.since(view.now).saturating_add(1))
        });
        let next = if self.is_waiting {
            IMPATIENT_MILLIS.min(self.options.beat_millis)
        } else {
            self.options.beat_millis
        };
        runs_out.min().unwrap_or(u64::MAX).min(next)
    }
}
