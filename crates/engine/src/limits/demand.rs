//! The queue's share of limits across nodes: the demands of this node, the grants that it gets, and its own grants as the
//! owner of keys.

use std::collections::BTreeSet;

use sprag_core::action::{Action, LimitUse};
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;
use sprag_store::{Fence, ShardId};

use super::{GrantReceived, LimitDemand};
use crate::queue::{ActionQueue, Allowance, Dispatcher, Lack};

/// What this node has and wants under a limit that another node owns.
type OwnUse = (LimitUse, Vec<AttemptId>, u32);

/// The shards of this node changed.
pub(crate) fn own_shards(queue: &mut Dispatcher, own: impl Iterator<Item = ShardId>) {
    queue.permits.shared.here(own);
    queue.permits.note_all();
}

/// The fences that an attempt of an action carries for its keys; none if one of them has no grant any more. `own` is the
/// fence of a shard of this node.
pub(crate) fn fences(
    queue: &Dispatcher,
    action: &Action,
    own: impl Fn(ShardId) -> Option<Fence>,
) -> Option<Vec<Fence>> {
    let shared = &queue.permits.shared;
    let limits = action
        .body
        .limits
        .iter()
        .filter(|limit| queue.permits.is_limited(limit));
    let fences = limits.filter_map(|limit| {
        let owner = shared.owner(&limit.key)?;
        Some(own(owner).or_else(|| shared.fence(limit)))
    });
    fences.collect()
}

/// The demands to send to limit owners now.
pub(crate) fn due(queue: &mut Dispatcher, now: Timestamp) -> Vec<LimitDemand> {
    let uses = uses(queue, now);
    let shared = &mut queue.permits.shared;
    shared.tidy(|limit| use_of(&uses, limit));
    shared.demands(now, |limit| use_of(&uses, limit))
}

/// When the next demand is to be sent.
pub(crate) fn next(queue: &Dispatcher) -> Option<Timestamp> {
    if queue.resting.is_held() {
        // This node sends nothing while its lease may have run out; the heartbeat that renews it wakes the lane.
        return None;
    }
    let uses = uses(queue, queue.chosen_at);
    queue.permits.shared.next_demand(|limit| use_of(&uses, limit))
}

fn uses(queue: &Dispatcher, now: Timestamp) -> Vec<OwnUse> {
    let shared = &queue.permits.shared;
    let limits = shared.limits().map(|limit| {
        let parked = queue.parked.get(&Lack::Grant(limit.key.clone())).into_iter().flatten();
        let lines = parked.filter_map(|name| queue.lines.get(name));
        let under = lines.filter(|line| line.limits.contains(limit));
        let waiting: usize = under.map(ActionQueue::len).sum();
        let waiting = waiting.max(usize::from(shared.is_missed(limit, now)));
        let wants = u32::try_from(waiting).unwrap_or(u32::MAX);
        (limit.clone(), queue.permits.under(limit).collect(), wants)
    });
    limits.collect()
}

/// A limit owner answered, or could not be asked.
pub(crate) fn received(queue: &mut Dispatcher, received: &GrantReceived, now: Timestamp) {
    if queue.permits.shared.answered(received, now) {
        queue.unpark(&Lack::Grant(received.limit.key.clone()));
    }
}

/// What another node gets of its demand under a key that this node owns.
pub(crate) fn grant(queue: &mut Dispatcher, demand: &LimitDemand, now: Timestamp, micros: u64) -> Allowance {
    let waits_here = Lack::Key(demand.limit.key.clone());
    let is_wanted = queue.parked.contains_key(&waits_here);
    let granted = queue.permits.grant(demand, is_wanted, now, micros);
    queue.unpark(&waits_here);
    granted
}

/// What runs in shards of other nodes. Queues that wait for a key are looked at again.
pub(crate) fn found(queue: &mut Dispatcher, looked_at: &BTreeSet<ShardId>, running: &[(AttemptId, Vec<LimitUse>)]) {
    queue.permits.shared.found(looked_at, running);
    queue.unpark_where(|lack| matches!(lack, Lack::Key(_) | Lack::Grant(_)));
}

fn use_of(uses: &[OwnUse], limit: &LimitUse) -> (Vec<AttemptId>, u32) {
    let found = uses.iter().find(|(of, ..)| of == limit);
    found.map_or((Vec::new(), 0), |(_, holds, wants)| (holds.clone(), *wants))
}
