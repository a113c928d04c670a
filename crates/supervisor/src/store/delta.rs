//! Changes in order: one delta for each change of a document, with ids from 1 without gaps.
//!
//! Deltas exist in memory, for this run of the store. The store keeps them up to an age, a number and a size. If the
//! position of a reader is no longer there, the reader gets all documents again. Few deltas are ever read, so the store
//! keeps them as text, which is much smaller than values.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use sprag_core::time::Timestamp;

use super::cursor::Cursor;
use super::document::Change;
use super::record::Part;
use super::snapshot::StoredSnapshot;

/// Deltas in one page.
pub const PAGE_MAX: usize = 100;

/// What the store keeps of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Deltas, at most.
    pub deltas_max: usize,
    /// About how many bytes of them.
    pub delta_bytes_max: usize,
    /// How old a delta, or what is left of a worker that is gone, may become, in milliseconds.
    pub age_max_millis: u64,
    /// Workers that are gone and still remembered, at most.
    pub gone_max: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            deltas_max: 65_536,
            delta_bytes_max: 16 << 20,
            age_max_millis: 60 * 60 * 1_000,
            gone_max: 10_000,
        }
    }
}

/// One change of a worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// Its place: one more than that of the delta before.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// Of whom.
    pub worker: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub kind: DeltaKind,
}

/// What happened to a worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum DeltaKind {
    /// A part of it changed.
    Changed {
        /// Which part.
        part: Part,
        /// What of it.
        changes: Vec<Change>,
    },
    /// It is gone.
    Gone,
}

/// What a reader is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Page {
    /// What changed since its place: at most [`PAGE_MAX`] deltas, in order.
    Deltas {
        /// The deltas.
        deltas: Vec<Delta>,
        /// Where to go on: behind the last of them.
        cursor: Cursor,
        /// Whether more wait already.
        has_more: bool,
    },
    /// Everything: the reader begins, or its place is no longer there.
    Everything {
        /// Every worker that is there.
        workers: Vec<StoredSnapshot>,
        /// Where to go on.
        cursor: Cursor,
    },
}

/// A delta as it is kept.
#[derive(Debug)]
struct KeptDelta {
    at: Timestamp,
    worker: Arc<str>,
    /// Which part changed, and the changes as JSON; nothing where the worker is gone.
    changed: Option<(Part, Box<str>)>,
}

impl KeptDelta {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.changed.as_ref().map_or(0, |(_, text)| text.len())
    }

    fn read(&self, id: u64) -> Delta {
        let kind = match &self.changed {
            Some((part, text)) => DeltaKind::Changed {
                part: *part,
                // It was written here, from changes.
                changes: serde_json::from_str(text).unwrap_or_default(),
            },
            None => DeltaKind::Gone,
        };
        Delta {
            id,
            at: self.at,
            worker: Arc::clone(&self.worker),
            kind,
        }
    }
}

/// The deltas that are kept.
#[derive(Debug, Default)]
pub(super) struct Log {
    deltas: VecDeque<KeptDelta>,
    bytes: usize,
    last: u64,
}

impl Log {
    /// The id of the newest delta there ever was in this run.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn push(&mut self, at: Timestamp, worker: &Arc<str>, kind: DeltaKind, options: &StoreOptions) {
        self.last += 1;
        let changed = match kind {
            // Text and JSON values can always be written.
            DeltaKind::Changed { part, changes } => {
                Some((part, serde_json::to_string(&changes).unwrap_or_default().into()))
            }
            DeltaKind::Gone => None,
        };
        let kept = KeptDelta {
            at,
            worker: Arc::clone(worker),
            changed,
        };
        self.bytes += kept.bytes();
        self.deltas.push_back(kept);
        while self.deltas.len() > options.deltas_max || self.bytes > options.delta_bytes_max {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(kept) = self.deltas.pop_front() {
            self.bytes = self.bytes.saturating_sub(kept.bytes());
        }
    }

    /// Drops those from before `limit`. How many.
    pub(super) fn compact(&mut self, limit: Timestamp) -> usize {
        let before = self.deltas.len();
        while self.deltas.front().is_some_and(|kept| kept.at < limit) {
            self.pop();
        }
        before - self.deltas.len()
    }

    /// What follows `id`; `None` when something in between is no longer there, or `id` was never given.
    pub(super) fn after(&self, id: u64, limit: usize) -> Option<(Vec<Delta>, bool)> {
        let newer = self.last.checked_sub(id)?;
        let newer = usize::try_from(newer).ok()?;
        let skipped = self.deltas.len().checked_sub(newer)?;
        let kept = self.deltas.iter().skip(skipped).take(limit);
        let found: Vec<Delta> = kept.zip(id + 1..).map(|(kept, id)| kept.read(id)).collect();
        let has_more = found.len() < newer;
        Some((found, has_more))
    }
}
