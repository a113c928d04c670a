//! Which node should own which shard: a pure function of who is alive and who owns what.
//!
//! Every node computes it from the same view and comes to the same answer, so there is no coordinator to elect or to
//! lose. What always holds: every shard has exactly one node; no node has two shards more than another; no more shards
//! change their owner than evenness asks for. Whether a node may then *take* a shard is not decided here: that is the
//! store's word, one shard and one epoch at a time (see [`crate::nodes`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sprag_core::ids::NodeId;

/// Who should own each shard, by the shard's number. `owners` says who does now; an owner that is not in `live` counts
/// as none. No shard has an owner while no node is alive.
///
/// Each node keeps what it has up to its share; what is beyond it, the highest shards first, goes with what has no
/// owner to those that have too little, in the order of their ids. Where the shares cannot be equal, those that have
/// most keep one more.
pub fn assign(live: &[NodeId], owners: &[Option<NodeId>]) -> Vec<Option<NodeId>> {
    let mut shares = shares(live, owners);
    let mut due: Vec<Option<NodeId>> = vec![None; owners.len()];
    for (owner, due) in owners.iter().zip(&mut due) {
        if let Some(node) = owner
            && let Some(left) = shares.get_mut(node)
            && *left > 0
        {
            *left -= 1;
            *due = Some(*node);
        }
    }
    let mut wanting = shares
        .into_iter()
        .flat_map(|(node, left)| std::iter::repeat_n(node, left));
    for due in due.iter_mut().filter(|due| due.is_none()) {
        *due = wanting.next();
    }
    due
}

/// How many shards each node should own.
fn shares(live: &[NodeId], owners: &[Option<NodeId>]) -> BTreeMap<NodeId, usize> {
    let mut held: BTreeMap<NodeId, usize> = live.iter().map(|node| (*node, 0)).collect();
    for node in owners.iter().flatten() {
        if let Some(count) = held.get_mut(node) {
            *count += 1;
        }
    }
    let (least, more) = match held.len() {
        0 => (0, 0),
        nodes => (owners.len() / nodes, owners.len() % nodes),
    };
    let mut by_most: Vec<(Reverse<usize>, NodeId)> =
        held.iter().map(|(node, count)| (Reverse(*count), *node)).collect();
    by_most.sort_unstable();
    let share = |(place, (_, node)): (usize, (_, NodeId))| (node, least + usize::from(place < more));
    by_most.into_iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests;
