//! Where every shard is, as of the last heartbeat: for those who must send a request to the node that decides it.

use std::sync::{Arc, PoisonError, RwLock};

use sprag_core::ids::{NodeId, Slot};
use sprag_store::ShardId;
use sprag_store::nodes::{Node, View};
use sprag_store::traits::shard_of;

/// Written by the member after a heartbeat, read by everybody. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    me: NodeId,
    view: Arc<RwLock<Option<Arc<View>>>>,
}

/// Where a shard is decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this node.
    Here,
    /// On another one.
    There {
        /// Which shard.
        shard: ShardId,
        /// Which node.
        node: NodeId,
        /// Where to reach it.
        advertise: String,
    },
    /// Nowhere for the moment: its owner is gone and no node has taken it over yet.
    Nowhere {
        /// Which shard.
        shard: ShardId,
    },
}

impl Whereabouts {
    pub(super) fn new(me: NodeId) -> Self {
        Self {
            me,
            view: Arc::default(),
        }
    }

    /// This node.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// All nodes and shards; none before the first heartbeat.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a text is what nodes show each other. Takes as long for a wrong one as for the right one.
    pub fn is_token(&self, shown: &[u8]) -> bool {
        let Some(view) = self.view() else { return false };
        let token = view.token.as_bytes();
        let differs = token.iter().zip(shown).fold(0, |differs, (a, b)| differs | (a ^ b));
        !token.is_empty() && token.len() == shown.len() && differs == 0
    }

    pub(super) fn show(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(view));
    }

    /// Where what has this slot is decided on.
    pub fn place(&self, slot: Slot) -> Place {
        let shards = self.view().map_or(1, |view| view.shards.len());
        self.place_of(shard_of(slot, u32::try_from(shards).unwrap_or(u32::MAX)))
    }

    /// The node that has the shard of a slot, alive or not, as of the last heartbeat.
    pub(crate) fn keeper(&self, slot: Slot) -> Option<Node> {
        let view = self.view()?;
        let shard = shard_of(slot, u32::try_from(view.shards.len()).ok()?);
        let owner = view.shards.get(usize::try_from(shard.0).ok()?)?.owner?;
        view.nodes.iter().find(|node| node.id == owner).cloned()
    }

    /// Where a shard is decided on.
    pub fn place_of(&self, shard: ShardId) -> Place {
        let Some(view) = self.view() else {
            return Place::Nowhere { shard };
        };
        match view.owner(shard) {
            Some(owner) if owner.id == self.me => Place::Here,
            Some(owner) => Place::There {
                shard,
                node: owner.id,
                advertise: owner.advertise.clone(),
            },
            None => Place::Nowhere { shard },
        }
    }
}
