//! The dispatcher's share of shards that come and go.

use sprag_core::ids::{ActionId, AttemptId, Slot};
use sprag_store::ShardId;
use sprag_store::traits::shard_of;

use super::action_queue::ActionQueue;
use super::dispatcher::Dispatcher;

/// Shards of which nothing begins.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    /// How many there are on all nodes.
    of: u32,
    shards: Vec<ShardId>,
    /// Nothing of any shard begins: the node is out of touch with its database.
    all: bool,
}

impl Resting {
    /// Lets nothing start for the moment, or lets it again.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.all = is_held;
    }

    /// A shard rests no longer.
    pub(crate) fn rouse(&mut self, shard: ShardId) {
        self.shards.retain(|resting| *resting != shard);
    }

    /// Whether nothing begins at all.
    pub(crate) fn is_held(&self) -> bool {
        self.all
    }

    /// Whether nothing of this slot begins.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        !self.shards.is_empty() && self.shards.contains(&shard_of(slot, self.of))
    }
}

impl Dispatcher {
    /// Nothing of a shard begins from now on. What waits stays in the store.
    pub(crate) fn rest(&mut self, shard: ShardId, of: u32) {
        self.resting.of = of;
        if !self.resting.shards.contains(&shard) {
            self.resting.shards.push(shard);
        }
        self.drop_waiting(|slot| shard_of(slot, of) == shard);
    }

    /// A line that the store holds of a shard that is new here: what memory holds of it may not be its front any more.
    /// Actions that are held stand in none: theirs has no name.
    pub(crate) fn know(&mut self, name: &str) {
        if name.is_empty() {
            return;
        }
        let line = self.lines.entry(name.to_owned());
        line.or_insert_with(|| ActionQueue::named(name)).reread();
        self.requeue(name);
    }

    /// Whether this process performs any attempt in slots that are meant.
    pub(crate) fn performs(&self, is_meant: impl Fn(Slot) -> bool) -> bool {
        let mut meant = self.permits.attempts().filter(|attempt| is_meant(attempt.slot()));
        meant.any(|attempt| self.leases.get(attempt).is_none())
    }

    /// Forgets everything in slots that are meant. Returns the attempts that were under way.
    pub(crate) fn drop_where(&mut self, is_meant: impl Fn(Slot) -> bool) -> Vec<AttemptId> {
        self.drop_waiting(&is_meant);
        let attempts = self.permits.attempts();
        let under_way: Vec<AttemptId> = attempts.filter(|attempt| is_meant(attempt.slot())).collect();
        for attempt in &under_way {
            self.polls.withdraw(*attempt);
            let limits = self.permits.limits_of(*attempt).to_vec();
            self.permits.shared.leave(*attempt, &limits);
            self.release(*attempt);
        }
        self.leases.drop_where(|attempt| is_meant(attempt.slot()));
        under_way
    }

    /// Forgets what waits in slots that are meant, and what was chosen of it.
    fn drop_waiting(&mut self, is_meant: impl Fn(Slot) -> bool) {
        let chosen: Vec<ActionId> = self.reserved.keys().copied().collect();
        for action in chosen.into_iter().filter(|action| is_meant(action.slot())) {
            self.give_back(action);
        }
        self.suspects.retain(|action, _| !is_meant(action.slot()));
        let names: Vec<String> = self.lines.keys().cloned().collect();
        for name in names {
            if let Some(line) = self.lines.get_mut(&name) {
                line.drop_where(|execution| is_meant(execution.slot()));
            }
            self.requeue(&name);
        }
    }
}
