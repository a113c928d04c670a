//! What a batch logs once it is durable: failed attempts, dead letters, and what people did about them.
//!
//! Each event is logged once, after its commit. A level that is off costs one comparison and no memory: a batch gathers
//! only what is going to be logged.

use sprag_core::action::{Action, ActionError, Status};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use tracing::{Level, enabled};

use super::{Batch, Decider};

/// Something to log once the batch is durable. Dead and archived actions are found in the batch itself.
#[derive(Debug)]
pub(crate) enum LogEntry {
    /// An attempt succeeded.
    Succeeded(AttemptLine),
    /// An attempt failed and another one follows.
    Retrying {
        /// Which attempt.
        attempt: AttemptLine,
        /// Why.
        error: ActionError,
        /// Milliseconds until the next attempt.
        retry_in_ms: u64,
    },
    /// A person retried a dead letter.
    Retried {
        /// Which action.
        action: ActionId,
    },
    /// A job retried a dead letter.
    RetriedByJob {
        /// Which action.
        action: ActionId,
    },
}

/// An attempt as its lines name it.
#[derive(Debug)]
pub(crate) struct AttemptLine {
    name: String,
    action: ActionId,
    execution: ExecutionId,
    number: u32,
    attempt: AttemptId,
}

impl AttemptLine {
    fn of(action: &Action) -> Option<Self> {
        let attempt = action.body.attempts.last()?;
        Some(Self {
            name: action.action_id.clone(),
            action: action.id,
            execution: action.origin.execution,
            number: attempt.number,
            attempt: attempt.id,
        })
    }
}

impl Decider<'_> {
    /// The last attempt of an action ended, and another one follows or not.
    pub(crate) fn log_settled(&mut self, action: &Action, again: bool) {
        let error = action.body.attempts.last().and_then(|attempt| attempt.error.as_ref());
        let entry = match error {
            Some(error) if again && enabled!(Level::WARN) => {
                AttemptLine::of(action).map(|attempt| LogEntry::Retrying {
                    attempt,
                    error: error.clone(),
                    retry_in_ms: action.run_at.since(self.at.now),
                })
            }
            None if enabled!(Level::DEBUG) => AttemptLine::of(action).map(LogEntry::Succeeded),
            _ => None,
        };
        self.batch.logged.extend(entry);
    }
}

/// Logs what happened in a batch that is durable.
pub(crate) fn log_durable(batch: &mut Batch) {
    for entry in std::mem::take(&mut batch.logged) {
        log_entry(&entry, batch);
    }
    // Most actions succeed, and are not looked up.
    let told = batch
        .ended
        .iter()
        .filter(|(_, status)| matches!(status, Status::Dead | Status::Archived));
    for (action, status) in told.filter_map(|(id, status)| Some((batch.action(*id)?, *status))) {
        match status {
            Status::Dead => log_dead(action),
            Status::Archived => tracing::info!(
                action = action.action_id,
                action_id = %action.id,
                execution = %action.origin.execution,
                "dead letter archived"
            ),
            _ => {}
        }
    }
}

fn log_entry(entry: &LogEntry, batch: &Batch) {
    match entry {
        LogEntry::Succeeded(attempt) => tracing::debug!(
            action = attempt.name,
            action_id = %attempt.action,
            execution = %attempt.execution,
            attempt = attempt.number,
            attempt_id = %attempt.attempt,
            "attempt succeeded"
        ),
        LogEntry::Retrying {
            attempt,
            error,
            retry_in_ms,
        } => tracing::warn!(
            action = attempt.name,
            action_id = %attempt.action,
            execution = %attempt.execution,
            attempt = attempt.number,
            attempt_id = %attempt.attempt,
            error = error.kind,
            detail = error.message,
            retry_in_ms,
            "attempt failed, retrying"
        ),
        LogEntry::Retried { action } => {
            if let Some(action) = batch.action(*action) {
                tracing::info!(
                    action = action.action_id,
                    action_id = %action.id,
                    execution = %action.origin.execution,
                    "dead letter retried"
                );
            }
        }
        LogEntry::RetriedByJob { action } => {
            if let Some(action) = batch.action(*action) {
                tracing::debug!(
                    action = action.action_id,
                    action_id = %action.id,
                    execution = %action.origin.execution,
                    "dead letter retried by a job"
                );
            }
        }
    }
}

fn log_dead(action: &Action) {
    let error = action.body.last_error.as_ref();
    let attempt = action.body.attempts.last();
    tracing::error!(
        action = action.action_id,
        action_id = %action.id,
        execution = %action.origin.execution,
        attempt = action.attempts_made(),
        attempt_id = attempt.map(|attempt| tracing::field::display(attempt.id)),
        error = error.map_or("", |error| error.kind.as_str()),
        detail = error.map_or("", |error| error.message.as_str()),
        "action failed, now a dead letter"
    );
}
