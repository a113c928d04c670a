//! Actions of workers: their names, their time limits, and the status of the last one.
//!
//! They are not durable: after a crash the supervisor computes them again from observations. An action has an id and a
//! generation, so the end of an older action never counts for a newer one with the same name.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sprag_core::action::error::kind;
use sprag_core::action::retry;
use sprag_core::time::Timestamp;
use tokio::sync::watch;

/// How long an attempt may take unless its action says otherwise.
pub const TIMEOUT_DEFAULT_MILLIS: u64 = 5 * 60 * 1_000;

/// What a worker can do.
pub trait Action: Send + Sync + fmt::Debug + 'static {
    /// Its name, for people and metrics.
    fn name(&self) -> &'static str;

    /// How it is attempted.
    fn options(&self) -> ActionOptions {
        ActionOptions::default()
    }
}

/// How an action is attempted.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionOptions {
    /// How long one attempt may take, in milliseconds; `None`: without end, and never stuck.
    pub timeout_millis: Option<u64>,
    /// How often, and after which delays.
    pub retry: retry::Policy,
}

impl Default for ActionOptions {
    fn default() -> Self {
        Self {
            timeout_millis: Some(TIMEOUT_DEFAULT_MILLIS),
            retry: retry::Policy::default(),
        }
    }
}

/// Makes the future of one attempt. It is called where the attempt runs, never on the tick.
pub type Perform = Arc<dyn Fn(ActionContext) -> BoxFuture<'static, Result<(), ActionError>> + Send + Sync>;

/// An action to be performed, without the types of its worker.
#[derive(Clone)]
pub struct ActionCall {
    /// The path of the worker it belongs to.
    pub worker: Arc<str>,
    /// Its name, for people and metrics.
    pub name: Arc<str>,
    /// How it is attempted.
    pub options: ActionOptions,
    /// What it does.
    pub perform: Perform,
}

/// What is known about a worker's last action. It stays until the next one starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionStatus {
    /// Which action of the worker, from 1; 0 before the first.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Which use of the slot: results of an older one are dropped.
    pub generation: u64,
    /// When its first attempt started.
    pub started: Option<Timestamp>,
    /// Attempts started so far.
    pub attempt: u32,
    /// How it stands.
    pub outcome: Outcome,
    /// What the last attempt that failed said.
    pub error: Option<String>,
}

/// How an action stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// There was none.
    #[default]
    None,
    /// Queued, running, or waiting for its next attempt.
    InProgress,
    /// Its effect happened.
    Succeeded,
    /// It did not.
    Failed {
        /// The type of its last error.
        class: String,
    },
    /// The process ended while it ran: its result is unknown.
    Unknown,
}

impl ActionStatus {
    /// Whether it holds the worker's slot.
    pub fn in_progress(&self) -> bool {
        self.outcome == Outcome::InProgress
    }

    /// Whether it ended without its effect.
    pub fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ActionError {
    /// One of [`kind`], or the worker's own word.
    pub kind: String,
    /// What happened, in a sentence fragment.
    pub message: String,
    /// No retry can ever help.
    pub hopeless: bool,
}

impl ActionError {
    /// An error of a kind of [`kind`] or the worker's own; the retry policy knows which are retried.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            hopeless: false,
        }
    }

    /// An error that may well be gone later.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self::new(kind::TEMPORARY_FAILURE, message)
    }

    /// The same, never retried.
    #[must_use]
    pub fn hopeless(mut self) -> Self {
        self.hopeless = true;
        self
    }
}

/// What an attempt knows about itself.
#[derive(Clone, Debug)]
pub struct ActionContext {
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Which use of the worker's slot.
    pub generation: u64,
    /// Tells when to give up.
    pub cancel: Cancel,
}

impl ActionContext {
    /// Whether the attempt should end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Waits until the attempt should end.
    pub async fn cancelled(&self) {
        self.cancel.clone().cancelled().await;
    }
}

/// Hears of a cancellation.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<bool>);

/// Cancels. Dropping it cancels too.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<watch::Sender<bool>>);

impl Canceller {
    /// A canceller and what hears it.
    pub fn new() -> (Self, Cancel) {
        let (sender, receiver) = watch::channel(false);
        (Self(Arc::new(sender)), Cancel(receiver))
    }

    /// Cancels; a second time does nothing.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Cancel {
    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is.
    pub async fn cancelled(mut self) {
        // An error means that the canceller is gone, which cancels as well.
        let _ = self.0.wait_for(|cancelled| *cancelled).await;
    }
}
