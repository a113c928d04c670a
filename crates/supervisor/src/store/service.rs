//! The store: one short lock around the texts, and reading.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use sprag_core::time::Timestamp;

use super::cursor::Cursor;
use super::delta::{DeltaKind, Log, PAGE_MAX, Page, StoreOptions};
use super::durable::{Durable, NotDurable};
use super::error::{Malformed, PutError, StoreError};
use super::file;
use super::journal::{DocumentKey, Journal};
use super::record::{Part, WorkerRecord};
use super::snapshot::{StoredSnapshot, StoredTexts};
use crate::runtime::pool::lock;

/// What is remembered of all workers.
pub struct Store {
    pub(super) shared: Arc<StoreShared>,
}

/// What the thread that writes shares with everybody else.
pub(super) struct StoreShared {
    texts: Mutex<Texts>,
    pub(super) journal: Option<Journal>,
    pub(super) options: StoreOptions,
    run: u64,
}

/// Everything in memory.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) records: BTreeMap<Arc<str>, WorkerRecord>,
    pub(super) log: Log,
}

/// An open store.
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What in its file cannot be read.
    pub malformed: Vec<Malformed>,
}

/// What a compaction took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Deltas.
    pub deltas: usize,
    /// Workers that were gone.
    pub gone: usize,
}

impl Store {
    /// A store without a file. `run` tells it from others whose cursors may come back.
    pub fn in_memory(options: StoreOptions, run: u64) -> Self {
        Self {
            shared: Arc::new(StoreShared {
                texts: Mutex::default(),
                journal: None,
                options,
                run,
            }),
        }
    }

    /// A store in a file, which is created if it is missing. A document that cannot be read is left out and named.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Opened, StoreError> {
        let file::Contents {
            file,
            run,
            records,
            malformed,
        } = file::open(path)?;
        let texts = Texts {
            records,
            log: Log::default(),
        };
        let shared = Arc::new(StoreShared {
            texts: Mutex::new(texts),
            journal: Some(Journal::new()),
            options,
            run,
        });
        Journal::start(&shared, file).map_err(StoreError::Thread)?;
        let store = Self { shared };
        Ok(Opened { store, malformed })
    }

    /// Writes what is left, and ends. An error says that not everything is on disk.
    pub fn close(self) -> Result<(), NotDurable> {
        self.shared.journal.as_ref().map_or(Ok(()), Journal::close)
    }

    /// Everything that was put so far, except observations: a caller that promised durability waits for it.
    pub fn settled(&self) -> Durable {
        let journal = self.shared.journal.as_ref();
        journal.map_or_else(Durable::at_once, Journal::newest)
    }

    /// All parts of a worker at one instant. What is done to it does not reach the store.
    pub fn snapshot(&self, worker: &str) -> Result<StoredSnapshot, PutError> {
        let texts = self.lock();
        let found = texts.records.get_key_value(worker);
        let instant = found.and_then(|(worker, record)| StoredTexts::of(worker, record));
        drop(texts);
        instant.map(StoredTexts::read).ok_or_else(|| PutError::NotFound {
            worker: worker.to_owned(),
        })
    }

    /// What is remembered of a worker's action, rule or window under that name.
    pub fn memory(&self, worker: &str, name: &str) -> Option<Value> {
        let texts = self.lock();
        let text = texts.records.get(worker)?.text(Part::Memory, Some(name))?;
        let body = Arc::clone(&text.body);
        drop(texts);
        serde_json::from_str(&body).ok()
    }

    /// The id of the newest delta: it moves with every change and with nothing else.
    pub fn sync_id(&self) -> u64 {
        self.lock().log.last()
    }

    /// What changed since `after`, in pages of at most [`PAGE_MAX`]; everything, if that can no longer be said.
    pub fn changes(&self, after: Option<Cursor>, limit: usize) -> Page {
        let texts = self.lock();
        let run = self.shared.run;
        let place = after.filter(|cursor| cursor.run == run).map(|cursor| cursor.id);
        let found = place.and_then(|id| Some((id, texts.log.after(id, limit.clamp(1, PAGE_MAX))?)));
        if let Some((id, (deltas, has_more))) = found {
            let id = deltas.last().map_or(id, |delta| delta.id);
            return Page::Deltas {
                deltas,
                cursor: Cursor { run, id },
                has_more,
            };
        }
        let cursor = Cursor {
            run,
            id: texts.log.last(),
        };
        let there = texts.records.iter().filter(|(_, record)| record.is_there());
        let instants: Vec<StoredTexts> = there
            .filter_map(|(worker, record)| StoredTexts::of(worker, record))
            .collect();
        drop(texts);
        Page::Everything {
            workers: instants.into_iter().map(StoredTexts::read).collect(),
            cursor,
        }
    }

    /// A worker went: its documents leave the file at once, and are remembered for a while.
    pub fn retire(&self, worker: &str, now: Timestamp) -> Durable {
        let mut texts = self.lock();
        let Some((worker, record)) = texts.records.get_key_value(worker) else {
            return Durable::at_once();
        };
        let worker = Arc::clone(worker);
        if record.gone_at.is_some() {
            return Durable::at_once();
        }
        let texts = &mut *texts;
        if let Some(record) = texts.records.get_mut(&worker) {
            record.gone_at = Some(now);
            record.documents.retain(|document| document.part != Part::Memory);
        }
        texts.log.push(now, &worker, DeltaKind::Gone, &self.shared.options);
        self.shared.dirty(DocumentKey::whole(&worker))
    }

    /// Retires every worker but these, which went while no process ran. Returns which.
    pub fn retire_except(&self, known: &[String], now: Timestamp) -> Vec<Arc<str>> {
        let is_known = |worker: &str| known.iter().any(|known| known == worker);
        let gone: Vec<Arc<str>> = self
            .lock()
            .records
            .iter()
            .filter(|(worker, record)| record.is_there() && !is_known(worker))
            .map(|(worker, _)| Arc::clone(worker))
            .collect();
        for worker in &gone {
            self.retire(worker, now);
        }
        gone
    }

    /// Forgets what is old: deltas, and what is left of workers that are gone. Nothing of a worker that is there.
    pub fn compact(&self, now: Timestamp) -> Compacted {
        let StoreOptions {
            age_max_millis,
            gone_max,
            ..
        } = self.shared.options;
        let age = i64::try_from(age_max_millis).unwrap_or(i64::MAX);
        let limit = Timestamp::from_millis(now.as_millis().saturating_sub(age));
        let mut texts = self.lock();
        let deltas = texts.log.compact(limit);
        let before = texts.records.len();
        texts
            .records
            .retain(|_, record| record.gone_at.is_none_or(|at| at >= limit));
        let mut gone: Vec<(Timestamp, Arc<str>)> = texts
            .records
            .iter()
            .filter_map(|(worker, record)| Some((record.gone_at?, Arc::clone(worker))))
            .collect();
        gone.sort();
        for (_, worker) in gone.iter().rev().skip(gone_max) {
            texts.records.remove(worker);
        }
        Compacted {
            deltas,
            gone: before - texts.records.len(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Texts> {
        self.shared.lock()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(journal) = &self.shared.journal {
            // A caller that wants to know the result calls `close`.
            let _ = journal.close();
        }
    }
}

impl StoreShared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Texts> {
        lock(&self.texts)
    }

    /// Has the file follow.
    pub(super) fn dirty(&self, key: DocumentKey) -> Durable {
        self.journal
            .as_ref()
            .map_or_else(Durable::at_once, |journal| journal.mark(key))
    }
}
