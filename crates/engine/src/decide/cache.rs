//! Executions in memory, bounded in number and in bytes: the least recently used go first. A cold one is read back by id.

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
    /// Roughly the bytes of all of them.
    bytes: usize,
    most: usize,
    bytes_most: usize,
}

#[derive(Debug)]
struct CachedExecution {
    used: u64,
    bytes: usize,
    state: ExecutionState,
    machines: Pinned,
}

impl ExecutionCache {
    /// At most so many executions, of roughly so many bytes.
    pub(crate) fn new(most: usize, bytes_most: usize) -> Self {
        Self {
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            bytes: 0,
            most,
            bytes_most,
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
        let CachedExecution {
            used,
            bytes,
            state,
            machines,
        } = self.entries.remove(&id)?;
        self.by_use.remove(&used);
        self.bytes -= bytes;
        Some((state, machines))
    }

    pub(crate) fn put(&mut self, state: ExecutionState, machines: Pinned) {
        let (id, bytes) = (state.head.id, state.weight());
        self.take(id);
        self.bytes += bytes;
        self.uses += 1;
        let used = self.uses;
        self.by_use.insert(used, id);
        self.entries.insert(
            id,
            CachedExecution {
                used,
                bytes,
                state,
                machines,
            },
        );
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
        while self.entries.len() > self.most && self.forget_oldest() {}
    }

    /// Whether they take more memory than they may.
    pub(crate) fn is_too_large(&self) -> bool {
        self.bytes > self.bytes_most
    }

    /// Forgets the least recently used, down to half of the bytes. Only while the lane rests: an execution of a commit in
    /// flight must not be read back before it is written.
    pub(crate) fn shrink_bytes(&mut self) {
        while self.bytes > self.bytes_most / 2 && self.forget_oldest() {}
    }

    fn forget_oldest(&mut self) -> bool {
        let oldest = self.by_use.first_key_value().map(|(_, id)| *id);
        oldest.is_some_and(|id| self.take(id).is_some())
    }

    /// Forgets the executions of shards that another node owns now.
    pub(crate) fn drop_where(&mut self, goes: impl Fn(ExecutionId) -> bool) {
        self.by_use.retain(|_, id| !goes(*id));
        self.entries.retain(|id, _| !goes(*id));
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
    }

    /// Forgets everything, so that the store is asked again.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.by_use.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, Value, json};
    use sprag_core::ids::Slot;
    use sprag_core::machine::{Execution, Facts, load_stored};
    use sprag_core::time::Timestamp;
    use sprag_store::records::ExecutionStatus;

    use super::super::state::Head;
    use super::*;

    fn execution(number: u64, text: usize) -> ExecutionState {
        let id = ExecutionId::compose(Timestamp::default(), Slot(0), number);
        let facts = Facts {
            id,
            key: None,
            version: 1,
            created_at: Timestamp::default(),
        };
        let head = Head {
            id,
            machine: "m".into(),
            version: 1,
            key: None,
            status: ExecutionStatus::Running,
            sequence: 1,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            tags: Vec::new(),
            migrated: false,
        };
        let variables = Map::from_iter([("text".to_owned(), Value::String("x".repeat(text)))]);
        ExecutionState::new(head, Execution::new(facts, variables))
    }

    #[test]
    fn large_executions_are_forgotten_by_bytes_oldest_first() {
        let machine = load_stored(&json!({"id": "m", "initial": "a", "states": {"a": {}}})).unwrap();
        let machines = Pinned::new(Arc::new(machine));
        let mut cache = ExecutionCache::new(100, 1_000_000);
        for number in 0..8 {
            cache.put(execution(number, 100_000), machines.clone());
        }
        assert!(!cache.is_too_large(), "eight fit");
        for number in 8..12 {
            cache.put(execution(number, 100_000), machines.clone());
        }
        assert!(cache.is_too_large());
        cache.shrink_bytes();
        let kept: Vec<u64> = (0..12)
            .filter(|number| cache.contains(execution(*number, 0).head.id))
            .collect();
        assert_eq!(kept, [8, 9, 10, 11]);
        cache.clear();
        assert!(!cache.is_too_large());
    }
}
