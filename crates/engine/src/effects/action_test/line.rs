//! The engine's side of an attempt, where nothing is stored: what is checkpointed is kept until the test ends.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sprag_core::action::{BoxFuture, Control, Superseded};

use crate::effects::tasks::Line;

/// Keeps what an attempt checkpoints.
#[derive(Default)]
pub(super) struct Memory(Mutex<Option<Value>>);

impl Memory {
    /// What was checkpointed last.
    pub(super) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Control for Memory {
    fn checkpoint(&self, value: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Box::pin(std::future::ready(Ok(())))
    }

    /// A test is never cancelled.
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl Line for Memory {
    fn checkpointed(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn control(&self) -> &dyn Control {
        self
    }
}
