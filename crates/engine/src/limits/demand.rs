//! The queue's share of limits across nodes: the demands of this node, the grants that it gets, and its own grants as the
//! owner of keys.

use std::collections::BTreeSet;

use sprag_core::action::{Action, LimitUse};
use sprag_core::ids::AttemptId;
use sprag_core::time::Timestamp;
use sprag_store::{Fence, ShardId};

use super::{Heard, Statement};
use crate::queue::{Allowance, Dispatcher, Lack, Line};

/// What this node has and wants under a limit that another node owns.
type OwnUse = (LimitUse, Vec<AttemptId>, u32);

/// The shards of this node changed.
pub(crate) fn own_shards(queue: &mut Dispatcher, own: impl Iterator<Item = ShardId>) {
    queue.permits.homes.here(own);
    queue.permits.note_all();
}

/// The fences that an attempt of an action carries for its keys; none if one of them has no grant any more. `own` is the
/// fence of a shard of this node.
pub(crate) fn fences(
    queue: &Dispatcher,
    action: &Action,
    own: impl Fn(ShardId) -> Option<Fence>,
) -> Option<Vec<Fence>> {
    let homes = &queue.permits.homes;
    let limits = action
        .body
        .limits
        .iter()
        .filter(|limit| queue.permits.is_limited(limit));
    let fences = limits.filter_map(|limit| {
        let home = homes.home(&limit.key)?;
        Some(own(home).or_else(|| homes.fence(limit)))
    });
    fences.collect()
}

/// The demands to send to limit owners now.
pub(crate) fn due(queue: &mut Dispatcher, now: Timestamp) -> Vec<Statement> {
    let uses = uses(queue, now);
    let homes = &mut queue.permits.homes;
    homes.tidy(|limit| use_of(&uses, limit));
    homes.statements(now, |limit| use_of(&uses, limit))
}

/// When the next demand is to be sent.
pub(crate) fn next(queue: &Dispatcher) -> Option<Timestamp> {
    if queue.resting.is_held() {
        // This node sends nothing while its lease may have run out; the heartbeat that renews it wakes the lane.
        return None;
    }
    let uses = uses(queue, queue.chosen_at);
    queue.permits.homes.next_statement(|limit| use_of(&uses, limit))
}

fn uses(queue: &Dispatcher, now: Timestamp) -> Vec<OwnUse> {
    let homes = &queue.permits.homes;
    let limits = homes.limits().map(|limit| {
        let parked = queue.parked.get(&Lack::Home(limit.key.clone())).into_iter().flatten();
        let lines = parked.filter_map(|name| queue.lines.get(name));
        let under = lines.filter(|line| line.limits.contains(limit));
        let waiting: usize = under.map(Line::len).sum();
        let waiting = waiting.max(usize::from(homes.is_missed(limit, now)));
        let wants = u32::try_from(waiting).unwrap_or(u32::MAX);
        (limit.clone(), queue.permits.under(limit).collect(), wants)
    });
    limits.collect()
}

/// A limit owner answered, or could not be asked.
pub(crate) fn received(queue: &mut Dispatcher, heard: &Heard, now: Timestamp) {
    if queue.permits.homes.answered(heard, now) {
        queue.unpark(&Lack::Home(heard.limit.key.clone()));
    }
}

/// What another node gets of its demand under a key that this node owns.
pub(crate) fn grant(queue: &mut Dispatcher, demand: &Statement, now: Timestamp, micros: u64) -> Allowance {
    let waits_here = Lack::Key(demand.limit.key.clone());
    let is_wanted = queue.parked.contains_key(&waits_here);
    let granted = queue.permits.allow(demand, is_wanted, now, micros);
    queue.unpark(&waits_here);
    granted
}

/// What runs in shards of other nodes. Queues that wait for a key are looked at again.
pub(crate) fn found(queue: &mut Dispatcher, looked_at: &BTreeSet<ShardId>, running: &[(AttemptId, Vec<LimitUse>)]) {
    queue.permits.homes.found(looked_at, running);
    queue.unpark_where(|lack| matches!(lack, Lack::Key(_) | Lack::Home(_)));
}

fn use_of(uses: &[OwnUse], limit: &LimitUse) -> (Vec<AttemptId>, u32) {
    let found = uses.iter().find(|(of, ..)| of == limit);
    found.map_or((Vec::new(), 0), |(_, holds, wants)| (holds.clone(), *wants))
}
