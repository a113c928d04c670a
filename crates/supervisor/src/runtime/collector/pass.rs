//! One pass as a future, and its note for the next scan.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::entries::EntryKey;
use crate::runtime::pool::{Work, lock, panic_text};
use crate::worker::CollectError;

/// What a pass reports.
pub(super) struct PassNote<O> {
    pub(super) key: EntryKey,
    pub(super) number: u64,
    pub(super) news: PassNews<O>,
}

pub(super) enum PassNews<O> {
    Ended(Result<O, PassFailure>),
    /// Its future is gone without a result: nothing of it blocks a thread any more.
    Dropped,
}

pub(super) enum PassFailure {
    Error(CollectError),
    Panic(String),
}

/// Notes for the next scan. At most as many as passes under way.
pub(super) struct PassNotes<O>(Mutex<Vec<PassNote<O>>>);

impl<O> Default for PassNotes<O> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<O> PassNotes<O> {
    pub(super) fn take(&self) -> Vec<PassNote<O>> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// Reports the end of a pass, also of one that is dropped.
struct Reporter<O> {
    key: EntryKey,
    number: u64,
    notes: Arc<PassNotes<O>>,
    has_ended: bool,
}

impl<O> Reporter<O> {
    fn report(&self, news: PassNews<O>) {
        lock(&self.notes.0).push(PassNote {
            key: self.key,
            number: self.number,
            news,
        });
    }

    fn end(mut self, result: Result<O, PassFailure>) {
        self.report(PassNews::Ended(result));
        self.has_ended = true;
    }
}

impl<O> Drop for Reporter<O> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.report(PassNews::Dropped);
        }
    }
}

/// Makes a pass. Panics are failures.
pub(super) fn pass<O: Send + 'static>(
    (key, number): (EntryKey, u64),
    notes: Arc<PassNotes<O>>,
    look: BoxFuture<'static, Result<O, CollectError>>,
) -> Work {
    let reporter = Reporter {
        key,
        number,
        notes,
        has_ended: false,
    };
    Box::pin(async move {
        let result = match AssertUnwindSafe(look).catch_unwind().await {
            Ok(result) => result.map_err(PassFailure::Error),
            Err(panic) => Err(PassFailure::Panic(panic_text(panic.as_ref()))),
        };
        reporter.end(result);
    })
}
