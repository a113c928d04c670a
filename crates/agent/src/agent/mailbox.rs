//! What the actor is told, and the way to it.

use tokio::sync::{mpsc, oneshot};

use super::prepare::{Prepared, Request};
use super::view::Ticket;
use crate::lifecycle::{Busy, RunId, State, TaskEnd, UnknownRun};
use crate::wire::proto::AgentStatus;

/// Commands that wait for the actor at most; a caller beyond waits for a place.
pub(super) const COMMANDS_MAX: usize = 1_024;

/// Something for the actor.
pub(super) enum Command {
    /// A controller wants a run.
    Run {
        request: Box<Request>,
        reply: oneshot::Sender<Result<Ticket, Busy>>,
    },
    /// The plan of a run was checked.
    Validated {
        run: RunId,
        result: Result<Box<Prepared>, String>,
    },
    /// The controller sent the start time: microseconds of the agent's clock, 0 is now.
    Start { run: RunId, at: u64 },
    /// A caller aborts a run, or the one in hand.
    Abort {
        run: Option<RunId>,
        reply: oneshot::Sender<Result<State, UnknownRun>>,
    },
    /// A caller asks how the agent is.
    Status {
        acknowledge: Option<RunId>,
        reply: oneshot::Sender<AgentStatus>,
    },
    /// A controller wants the stream of a run it knows the token of.
    Attach {
        run: RunId,
        token: String,
        reply: oneshot::Sender<Result<Ticket, AttachError>>,
    },
    /// A reader is gone before the end.
    ViewDropped { run: RunId, view: u64 },
    /// The task of a run ended and was joined.
    TaskEnded { run: RunId, end: TaskEnd },
    /// The process shall end.
    ShutDown,
}

/// Why a controller may not attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AttachError {
    /// There is no such run.
    #[error(transparent)]
    Unknown(#[from] UnknownRun),
    /// Another controller's run.
    #[error("the token is not the one of run `{0}`")]
    Token(RunId),
}

/// The way to the actor.
#[derive(Clone)]
pub(super) struct Mailbox(pub(super) mpsc::Sender<Command>);

impl Mailbox {
    /// Sends a command. None if the actor has ended.
    pub(super) async fn send(&self, command: Command) -> Option<()> {
        self.0.send(command).await.ok()
    }

    /// Sends a command and waits for its answer. None if the actor has ended.
    pub(super) async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        answer.await.ok()
    }

    /// Sends a command from a thread without a runtime.
    pub(super) fn tell(&self, command: Command) {
        // An actor that has ended needs to know nothing more.
        let _ = self.0.blocking_send(command);
    }

    /// Sends a command from where nothing can wait.
    pub(super) fn post(&self, command: Command) {
        let mailbox = self.clone();
        // Outside of a runtime the process is ending, and so is the actor.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { mailbox.send(command).await });
        }
    }
}
