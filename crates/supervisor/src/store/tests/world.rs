//! Stores with a worker in them.

use std::path::PathBuf;

use serde_json::Value;
use sprag_core::time::Timestamp;

use crate::runtime::collector::Recorded;
use crate::store::{Cursor, Delta, Expected, Opened, Page, Put, Sight, Store, StoreOptions};
use crate::worker::snapshot::Identity;

pub(super) const PUMP: &str = "plant/pump";

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn identity(path: &str, kind: &str) -> Identity {
    Identity {
        path: path.into(),
        name: path.rsplit('/').next().unwrap().into(),
        kind: kind.into(),
    }
}

/// A store with a pump.
pub(super) fn store() -> Store {
    let store = Store::in_memory(StoreOptions::default(), 1);
    introduce(&store, PUMP);
    store
}

pub(super) fn introduce(store: &Store, path: &str) {
    store.put_identity(&identity(path, "pump"), at(0)).unwrap();
}

pub(super) fn want(store: &Store, document: &Value) -> Put {
    store.put_desired(PUMP, document, Expected::Any, at(1)).unwrap()
}

pub(super) fn see(store: &Store, document: &Value, now: i64) -> bool {
    let sight = Sight {
        at: at(now),
        state: "running",
        document,
        recorded: &Recorded::default(),
    };
    store.put_observed(PUMP, sight).unwrap()
}

/// Deltas from `cursor`, page by page; panics at a page of everything.
pub(super) fn follow(store: &Store, mut cursor: Cursor) -> (Vec<Delta>, Cursor) {
    let mut all = Vec::new();
    loop {
        let Page::Deltas {
            deltas,
            cursor: next,
            has_more,
        } = store.changes(Some(cursor), usize::MAX)
        else {
            panic!("the place is gone");
        };
        all.extend(deltas);
        cursor = next;
        if !has_more {
            return (all, cursor);
        }
    }
}

/// Where a reader that read everything goes on.
pub(super) fn end(store: &Store) -> Cursor {
    let Page::Everything { cursor, .. } = store.changes(None, 1) else {
        panic!("a beginner is told everything");
    };
    cursor
}

/// A folder for a store's file.
pub(super) struct StoreFolder(tempfile::TempDir);

impl StoreFolder {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("sprag-services.db")
    }

    pub(super) fn open(&self) -> Store {
        let Opened { store, malformed } = Store::open(&self.path(), StoreOptions::default()).unwrap();
        assert_eq!(malformed, []);
        store
    }
}
