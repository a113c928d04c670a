//! All entries: by key for every observation, by name for callers.

use std::collections::HashMap;
use std::sync::Arc;

use slotmap::{SlotMap, new_key_type};

use super::entry::Entry;

new_key_type! {
    /// Names an entry for as long as its worker is observed.
    pub(super) struct EntryKey;
}

/// The workers that are observed.
pub(super) struct Entries<O> {
    entries: SlotMap<EntryKey, Entry<O>>,
    /// Only looked up, never walked.
    keys: HashMap<Arc<str>, EntryKey>,
}

impl<O> Default for Entries<O> {
    fn default() -> Self {
        Self {
            entries: SlotMap::with_key(),
            keys: HashMap::new(),
        }
    }
}

impl<O> Entries<O> {
    pub(super) fn key(&self, worker: &str) -> Option<EntryKey> {
        self.keys.get(worker).copied()
    }

    pub(super) fn insert(&mut self, worker: &Arc<str>, entry: Entry<O>) -> EntryKey {
        let key = self.entries.insert(entry);
        self.keys.insert(Arc::clone(worker), key);
        key
    }

    pub(super) fn remove(&mut self, key: EntryKey) -> Option<Entry<O>> {
        let entry = self.entries.remove(key)?;
        self.keys.remove(&entry.worker);
        Some(entry)
    }

    pub(super) fn get(&self, key: EntryKey) -> Option<&Entry<O>> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: EntryKey) -> Option<&mut Entry<O>> {
        self.entries.get_mut(key)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
