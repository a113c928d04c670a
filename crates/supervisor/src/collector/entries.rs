//! All entries: by key for every look, by name for whoever asks.

use std::collections::HashMap;
use std::sync::Arc;

use super::calendar::Key;
use super::entry::Entry;

/// The workers that are looked at.
pub(super) struct Entries<O> {
    places: Vec<Option<Entry<O>>>,
    free: Vec<Key>,
    /// Only looked up, never walked.
    keys: HashMap<Arc<str>, Key>,
}

impl<O> Default for Entries<O> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            keys: HashMap::new(),
        }
    }
}

impl<O> Entries<O> {
    pub(super) fn key(&self, worker: &str) -> Option<Key> {
        self.keys.get(worker).copied()
    }

    pub(super) fn insert(&mut self, worker: &Arc<str>, entry: Entry<O>) -> Key {
        let key = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            Key(u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX))
        });
        if let Some(place) = self.places.get_mut(key.0 as usize) {
            *place = Some(entry);
        }
        self.keys.insert(Arc::clone(worker), key);
        key
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Entry<O>> {
        let entry = self.places.get_mut(key.0 as usize)?.take()?;
        self.keys.remove(&entry.worker);
        self.free.push(key);
        Some(entry)
    }

    pub(super) fn get(&self, key: Key) -> Option<&Entry<O>> {
        self.places.get(key.0 as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Entry<O>> {
        self.places.get_mut(key.0 as usize)?.as_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}
