//! One attempt as a future, and what it notes for the next scan.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sprag_core::action::error::kind;
use sprag_core::time::Timestamp;

use super::options::class;
use super::service::Perform;
use crate::action::{ActionContext, ActionError};
use crate::pool::{TickTime, lock, panic_text};
use crate::store::Durable;

/// Which attempt of which life of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Which {
    pub(super) worker: Arc<str>,
    pub(super) generation: u64,
    pub(super) attempt: u32,
}

/// What an attempt says.
pub(super) struct Note {
    pub(super) which: Which,
    pub(super) news: News,
}

pub(super) enum News {
    Begun(Timestamp),
    Ended(Result<(), ActionError>),
}

/// Notes for the next scan. As many as attempts under way, at most twice.
#[derive(Default)]
pub(super) struct Notes(Mutex<Vec<Note>>);

impl Notes {
    fn put(&self, which: &Which, news: News) {
        lock(&self.0).push(Note {
            which: which.clone(),
            news,
        });
    }

    pub(super) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// All that an attempt needs.
pub(super) struct Attempt {
    pub(super) which: Which,
    pub(super) perform: Perform,
    pub(super) context: ActionContext,
    pub(super) mark: Durable,
    pub(super) notes: Arc<Notes>,
    pub(super) time: TickTime,
}

/// Performs. Nothing of the worker's runs before the mark of the start is durable, or cannot be made so: a disk that
/// fails must not keep what is broken from being repaired, so the action goes on and the store reports its trouble.
pub(super) fn future(attempt: Attempt) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Attempt {
            which,
            perform,
            context,
            mark,
            notes,
            time,
        } = attempt;
        let _ = mark.wait().await;
        if context.is_cancelled() {
            let error = ActionError::new(class::CANCELLED, "cancelled before it began");
            return notes.put(&which, News::Ended(Err(error)));
        }
        notes.put(&which, News::Begun(time.now()));
        // The call itself may panic, not only what it returns.
        let work = async move { perform(context).await };
        let result = AssertUnwindSafe(work).catch_unwind().await;
        let result = result.unwrap_or_else(|panic| Err(ActionError::new(kind::PANIC, panic_text(panic.as_ref()))));
        notes.put(&which, News::Ended(result));
    })
}
