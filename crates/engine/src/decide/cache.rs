//! Executions in memory, bounded: the least recently used go first. A cold one is read back by id.

use std::collections::{BTreeMap, HashMap};

use sprag_core::ids::ExecutionId;

use super::machines::Pinned;
use super::state::ExecutionState;

/// Executions in memory, each with its machine versions.
#[derive(Debug)]
pub(crate) struct ExecutionCache {
    // Looked up by id, or thinned out by it, never walked in order: the random seed of the map decides nothing.
    entries: HashMap<ExecutionId, CachedExecution>,
    by_use: BTreeMap<u64, ExecutionId>,
    uses: u64,
    most: usize,
}

#[derive(Debug)]
struct CachedExecution {
    used: u64,
    state: ExecutionState,
    machines: Pinned,
}

impl ExecutionCache {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            most,
        }
    }

    pub(crate) fn contains(&self, id: ExecutionId) -> bool {
        self.entries.contains_key(&id)
    }

    pub(crate) fn get(&self, id: ExecutionId) -> Option<&ExecutionState> {
        self.entries.get(&id).map(|entry| &entry.state)
    }

    /// An execution with the machine versions that it refers to.
    pub(crate) fn with_machines(&self, id: ExecutionId) -> Option<(&ExecutionState, &Pinned)> {
        self.entries.get(&id).map(|entry| (&entry.state, &entry.machines))
    }

    /// Takes an execution out to decide on it; [`ExecutionCache::put`] brings it back.
    pub(crate) fn take(&mut self, id: ExecutionId) -> Option<(ExecutionState, Pinned)> {
        let CachedExecution { used, state, machines } = self.entries.remove(&id)?;
        self.by_use.remove(&used);
        Some((state, machines))
    }

    pub(crate) fn put(&mut self, state: ExecutionState, machines: Pinned) {
        let id = state.head.id;
        self.take(id);
        self.uses += 1;
        let used = self.uses;
        self.by_use.insert(used, id);
        self.entries.insert(id, CachedExecution { used, state, machines });
    }

    /// Forgets an execution about which nothing is open: a request for it is unlikely.
    pub(crate) fn forget_over(&mut self, id: ExecutionId) {
        let is_over = |found: &ExecutionState| !found.head.status.is_open() && found.actions.is_empty();
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

    /// Forgets the executions of shards that another node owns now.
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
