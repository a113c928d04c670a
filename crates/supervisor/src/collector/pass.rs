//! One pass as a future, and what it notes for the next scan.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use super::calendar::Key;
use crate::pool::{lock, panic_text};
use crate::worker::CollectError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// What a pass says.
pub(super) struct Note<O> {
    pub(super) key: Key,
    pub(super) number: u64,
    pub(super) news: News<O>,
}

pub(super) enum News<O> {
    Ended(Result<O, Failure>),
    /// Its future is gone without a result: nothing of it blocks a thread any more.
    Dropped,
}

pub(super) enum Failure {
    Error(CollectError),
    Panic(String),
}

/// Notes for the next scan. At most as many as passes under way.
pub(super) struct Notes<O>(Mutex<Vec<Note<O>>>);

impl<O> Default for Notes<O> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<O> Notes<O> {
    pub(super) fn take(&self) -> Vec<Note<O>> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// Speaks for a pass, and says so when the pass goes without a word.
struct Voice<O> {
    key: Key,
    number: u64,
    notes: Arc<Notes<O>>,
    has_ended: bool,
}

impl<O> Voice<O> {
    fn say(&self, news: News<O>) {
        lock(&self.notes.0).push(Note {
            key: self.key,
            number: self.number,
            news,
        });
    }

    fn end(mut self, result: Result<O, Failure>) {
        self.say(News::Ended(result));
        self.has_ended = true;
    }
}

impl<O> Drop for Voice<O> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.say(News::Dropped);
        }
    }
}

/// Looks. Panics are failures.
pub(super) fn future<O: Send + 'static>(
    (key, number): (Key, u64),
    notes: Arc<Notes<O>>,
    look: BoxFuture<'static, Result<O, CollectError>>,
) -> BoxFuture<'static, ()> {
    let voice = Voice {
        key,
        number,
        notes,
        has_ended: false,
    };
    Box::pin(async move {
        let result = match AssertUnwindSafe(look).catch_unwind().await {
            Ok(result) => result.map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(panic_text(panic.as_ref()))),
        };
        voice.end(result);
    })
}
