//! One attempt as a future, and its note for the next scan.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use sprag_core::action::error::kind;
use sprag_core::time::Timestamp;

use super::options::class;
use crate::runtime::pool::{TickTime, lock, panic_text};
use crate::store::Durable;
use crate::worker::action::{ActionContext, ActionError, Perform};

/// Which attempt of which generation of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttemptId {
    pub(super) worker: Arc<str>,
    pub(super) generation: u64,
    pub(super) attempt: u32,
}

/// What an attempt reports.
pub(super) struct AttemptNote {
    pub(super) id: AttemptId,
    pub(super) news: AttemptNews,
}

pub(super) enum AttemptNews {
    Begun(Timestamp),
    Ended(Result<(), ActionError>),
}

/// Notes for the next scan. As many as attempts under way, at most twice.
#[derive(Default)]
pub(super) struct AttemptNotes(Mutex<Vec<AttemptNote>>);

impl AttemptNotes {
    fn put(&self, id: &AttemptId, news: AttemptNews) {
        lock(&self.0).push(AttemptNote { id: id.clone(), news });
    }

    pub(super) fn take(&self) -> Vec<AttemptNote> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// Performs. Nothing of the worker's runs before the mark of the start is durable, or cannot be made so: a disk that
/// fails must not keep what is broken from being repaired, so the action goes on and the store reports its trouble.
pub(super) async fn attempt(
    id: AttemptId,
    perform: Perform,
    context: ActionContext,
    mark: Durable,
    (notes, time): (Arc<AttemptNotes>, TickTime),
) {
    let _ = mark.wait().await;
    if context.is_cancelled() {
        let error = ActionError::new(class::CANCELLED, "cancelled before it began");
        return notes.put(&id, AttemptNews::Ended(Err(error)));
    }
    notes.put(&id, AttemptNews::Begun(time.now()));
    // The call itself may panic, not only what it returns.
    let work = async move { perform(context).await };
    let result = AssertUnwindSafe(work).catch_unwind().await;
    let result = result.unwrap_or_else(|panic| Err(ActionError::new(kind::PANIC, panic_text(panic.as_ref()))));
    notes.put(&id, AttemptNews::Ended(result));
}
