//! Changes that are not on disk yet, and the thread that writes them.
//!
//! A mark is a key, not a value: the thread writes the current value. So if a worker changes faster than the disk, the
//! thread writes it less often, and the queue never holds more than one mark per document. The thread writes urgent
//! marks at once, all waiting ones in one transaction. It writes observations about once a second, and few enough at a
//! time that an urgent mark does not wait long. If the disk refuses a write, marks stay, and the thread tries again.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use sprag_store::Error;
use sprag_store::sqlite::OwnFile;
use tokio::sync::watch;

use super::durable::{Durable, NotDurable, WriteProgress};
use super::file::{self, Row};
use super::record::Part;
use super::service::StoreShared;
use crate::runtime::pool::{lock, say};

/// Documents in one transaction.
const BATCH_MAX: usize = 1_024;
/// Observations in one transaction.
const LAZY_BATCH_MAX: usize = 4_096;
/// How long observations gather, and how long a disk that fails is left alone.
const PAUSE: Duration = Duration::from_secs(1);
/// Observations do not wait for more urgent transactions than that.
const URGENT_RUN_MAX: u32 = 16;

/// What is to be written: a document, or everything of a worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentKey {
    pub(super) worker: Arc<str>,
    /// `None`: what is in the file goes, what is in memory comes.
    pub(super) part: Option<Part>,
    pub(super) name: Option<Arc<str>>,
}

impl DocumentKey {
    pub(super) fn of(worker: &Arc<str>, part: Part, name: Option<&Arc<str>>) -> Self {
        Self {
            worker: Arc::clone(worker),
            part: Some(part),
            name: name.cloned(),
        }
    }

    pub(super) fn whole(worker: &Arc<str>) -> Self {
        Self {
            worker: Arc::clone(worker),
            part: None,
            name: None,
        }
    }

    fn is_lazy(&self) -> bool {
        self.part == Some(Part::Observed)
    }
}

/// The marks, and how far they were written.
pub(super) struct Journal {
    state: Mutex<JournalState>,
    bell: Condvar,
    progress: watch::Sender<WriteProgress>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct JournalState {
    urgent: VecDeque<(u64, DocumentKey)>,
    lazy: VecDeque<DocumentKey>,
    /// The entries of both queues.
    known: BTreeSet<DocumentKey>,
    number: u64,
    /// The number of the newest urgent mark, waiting or not.
    newest_urgent: u64,
    urgent_run: u32,
    is_closing: bool,
}

/// What is written together.
struct Batch {
    urgent: Vec<(u64, DocumentKey)>,
    lazy: Vec<DocumentKey>,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            bell: Condvar::new(),
            progress: watch::Sender::new(WriteProgress::default()),
            thread: Mutex::default(),
        }
    }

    /// Has the key written. Never waits for the disk.
    pub(super) fn mark(&self, key: DocumentKey) -> Durable {
        let mut state = lock(&self.state);
        state.number += 1;
        let number = state.number;
        let is_lazy = key.is_lazy();
        if !is_lazy {
            state.newest_urgent = number;
        }
        if state.known.insert(key.clone()) {
            if is_lazy {
                state.lazy.push_back(key);
            } else {
                state.urgent.push_back((number, key));
            }
        }
        drop(state);
        self.bell.notify_one();
        if is_lazy {
            return Durable::at_once();
        }
        Durable::on_its_way(number, self.progress.subscribe())
    }

    /// Everything urgent that was marked so far.
    pub(super) fn newest(&self) -> Durable {
        let number = lock(&self.state).newest_urgent;
        Durable::on_its_way(number, self.progress.subscribe())
    }

    /// Starts the thread. It ends when the store closes.
    pub(super) fn start(shared: &Arc<StoreShared>, file: OwnFile) -> std::io::Result<()> {
        let Some(journal) = &shared.journal else {
            return Ok(());
        };
        let weak = Arc::downgrade(shared);
        let thread = std::thread::Builder::new()
            .name("sprag-services".to_owned())
            .spawn(move || run(&weak, file))?;
        *lock(&journal.thread) = Some(thread);
        Ok(())
    }

    /// Has everything written, and the thread end.
    pub(super) fn close(&self) -> Result<(), NotDurable> {
        lock(&self.state).is_closing = true;
        self.bell.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
        let state = lock(&self.state);
        if state.known.is_empty() {
            Ok(())
        } else {
            Err(NotDurable)
        }
    }

    /// Waits for something to write; `None`: the store closed and nothing is left.
    fn next(&self) -> Option<Batch> {
        let mut state = lock(&self.state);
        loop {
            let has_paused = if !state.urgent.is_empty() || state.is_closing {
                false
            } else if state.lazy.is_empty() {
                state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            } else {
                let waited = self.bell.wait_timeout(state, PAUSE);
                let (after, result) = waited.unwrap_or_else(PoisonError::into_inner);
                state = after;
                result.timed_out()
            };
            let batch = state.take(has_paused);
            if !batch.is_empty() {
                return Some(batch);
            }
            if state.is_closing {
                return None;
            }
        }
    }

    /// Everything up to the first urgent mark that still waits is on disk.
    fn written(&self) {
        let state = lock(&self.state);
        let durable = state.urgent.front().map_or(state.number, |(number, _)| number - 1);
        drop(state);
        self.progress.send_replace(WriteProgress {
            durable,
            is_failing: false,
        });
    }

    /// What could not be written waits again, before everything else. Whether trying again makes sense.
    fn failed(&self, batch: Batch, problem: &Error) -> bool {
        let was_failing = self.progress.borrow().is_failing;
        if !was_failing {
            say(|| tracing::error!(%problem, "store not writable, supervision continues in memory"));
        }
        self.progress.send_modify(|progress| progress.is_failing = true);
        let mut state = lock(&self.state);
        for (number, key) in batch.urgent.into_iter().rev() {
            // Even if it was marked again meanwhile: its first number must not count as written before it is.
            state.known.insert(key.clone());
            state.urgent.push_front((number, key));
        }
        for key in batch.lazy {
            if state.known.insert(key.clone()) {
                state.lazy.push_back(key);
            }
        }
        if state.is_closing || matches!(problem, Error::Disk { .. }) {
            // After a failed flush it is unknown what is on disk before it is read again.
            return false;
        }
        drop(self.bell.wait_timeout(state, PAUSE));
        true
    }
}

impl JournalState {
    fn take(&mut self, has_paused: bool) -> Batch {
        let urgent: Vec<(u64, DocumentKey)> = {
            let count = self.urgent.len().min(BATCH_MAX);
            self.urgent.drain(..count).collect()
        };
        let is_their_turn = has_paused || self.is_closing || self.urgent_run >= URGENT_RUN_MAX;
        let lazy: Vec<DocumentKey> = if is_their_turn {
            let count = self.lazy.len().min(LAZY_BATCH_MAX);
            self.lazy.drain(..count).collect()
        } else {
            Vec::new()
        };
        self.urgent_run = if is_their_turn { 0 } else { self.urgent_run + 1 };
        for key in urgent.iter().map(|(_, key)| key).chain(&lazy) {
            self.known.remove(key);
        }
        Batch { urgent, lazy }
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.lazy.is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = &DocumentKey> {
        self.urgent.iter().map(|(_, key)| key).chain(&self.lazy)
    }
}

/// What the thread does until the store closes.
fn run(shared: &Weak<StoreShared>, mut file: OwnFile) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let Some(journal) = &shared.journal else { return };
        let Some(batch) = journal.next() else { return };
        let rows: Vec<Row> = {
            let texts = shared.lock();
            batch.keys().flat_map(|key| file::rows(&texts, key)).collect()
        };
        match file.commit(|transaction| file::write(transaction, &rows)) {
            Ok(()) => journal.written(),
            Err(problem) => {
                if !journal.failed(batch, &problem) {
                    return;
                }
            }
        }
    }
}
