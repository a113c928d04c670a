//! Executions in memory, bounded: the least recently used go first. A cold one is read back by id.

use std::collections::{BTreeMap, HashMap};

use sprag_core::ids::ExecutionId;

use crate::aggregate::Aggregate;

/// Executions in memory.
#[derive(Debug)]
pub(crate) struct Cache {
    // Looked up by id, or thinned out by it, never walked in order: the random seed of the map decides nothing.
    entries: HashMap<ExecutionId, (u64, Aggregate)>,
    by_use: BTreeMap<u64, ExecutionId>,
    clock: u64,
    most: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            clock: 0,
            most,
        }
    }

    pub(crate) fn contains(&self, id: ExecutionId) -> bool {
        self.entries.contains_key(&id)
    }

    pub(crate) fn get(&self, id: ExecutionId) -> Option<&Aggregate> {
        self.entries.get(&id).map(|(_, aggregate)| aggregate)
    }

    /// Takes an execution out to decide on it; [`Cache::put`] brings it back.
    pub(crate) fn take(&mut self, id: ExecutionId) -> Option<Aggregate> {
        let (used, aggregate) = self.entries.remove(&id)?;
        self.by_use.remove(&used);
        Some(aggregate)
    }

    pub(crate) fn put(&mut self, aggregate: Aggregate) {
        let id = aggregate.head.id;
        self.take(id);
        self.clock += 1;
        self.by_use.insert(self.clock, id);
        self.entries.insert(id, (self.clock, aggregate));
    }

    /// Forgets an execution about which nothing is open: it will hardly be asked for again.
    pub(crate) fn forget_over(&mut self, id: ExecutionId) {
        let is_over = |found: &Aggregate| !found.head.status.is_open() && found.actions.is_empty();
        if self.get(id).is_some_and(is_over) {
            self.take(id);
        }
    }

    /// Forgets the least recently used, down to the bound. Only between batches: within one, nothing is forgotten.
    pub(crate) fn shrink(&mut self) {
        while self.entries.len() > self.most {
            let Some((_, id)) = self.by_use.pop_first() else { break };
            self.entries.remove(&id);
        }
    }

    /// Forgets those that are somebody else's now.
    pub(crate) fn drop_where(&mut self, goes: impl Fn(ExecutionId) -> bool) {
        self.by_use.retain(|_, id| !goes(*id));
        self.entries.retain(|id, _| !goes(*id));
    }

    /// Forgets everything, so that the store is asked again.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.by_use.clear();
    }
}
