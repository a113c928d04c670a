//! The requests that change something, each under an idempotency key: sent again, they give the first answer.

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::Machine;
use std::sync::Arc;
use tokio::sync::oneshot;

use crate::closings::{Closed, Closing};
use crate::command::{Answer, Applied, Migrate, Refusal, Reply, Request, RetryDead, SendMessage, Sent, Start};
use crate::handle::{action, execution, unexpected};
use crate::idempotency::{Idempotency, Key};
use crate::inbox::Inbox;
use crate::view::{ActionView, ExecutionView};

/// A way to a running engine for one request: with a key, it acts once however often it is sent.
#[derive(Clone)]
pub struct Once {
    pub(crate) inbox: Inbox,
    pub(crate) key: Option<Key>,
}

/// What was answered, and whether it had been answered before.
#[derive(Clone, Debug)]
pub struct Asked<T> {
    /// The answer.
    pub answer: Result<T, Refusal>,
    /// Whether it is the answer to an earlier request under the same key; this one did nothing.
    pub replayed: bool,
}

impl Once {
    /// Keeps a machine version.
    pub async fn apply(self, machine: Machine) -> Asked<Applied> {
        self.ask(Request::Apply(Arc::new(machine)), applied).await
    }

    /// Starts an execution.
    pub async fn start(self, start: Start) -> Asked<ExecutionView> {
        self.ask(Request::Start(start), execution).await
    }

    /// Starts an execution, and gives what arrives once it is closed. For an answer that was given before nothing arrives.
    pub async fn start_awaited(self, start: Start) -> (Asked<ExecutionView>, Closing) {
        let (closed, closing) = oneshot::channel();
        let asked = self.ask_awaited(Request::Start(start), Some(closed), execution).await;
        (asked, closing)
    }

    /// Sends a message.
    pub async fn send(self, message: SendMessage) -> Asked<Sent> {
        self.ask(Request::Send(message), sent).await
    }

    /// Holds an execution.
    pub async fn pause(self, id: ExecutionId) -> Asked<ExecutionView> {
        self.ask(Request::Pause(id), execution).await
    }

    /// Lets an execution go on.
    pub async fn resume(self, id: ExecutionId) -> Asked<ExecutionView> {
        self.ask(Request::Resume(id), execution).await
    }

    /// Ends an execution.
    pub async fn cancel(self, id: ExecutionId) -> Asked<ExecutionView> {
        self.ask(Request::Cancel(id), execution).await
    }

    /// Moves an execution to another version.
    pub async fn migrate(self, migrate: Migrate) -> Asked<ExecutionView> {
        self.ask(Request::Migrate(migrate), execution).await
    }

    /// Lets a scheduled or retrying action be due now.
    pub async fn retry_now(self, id: ActionId) -> Asked<ActionView> {
        self.ask(Request::RetryNow(id), action).await
    }

    /// Ends an action.
    pub async fn cancel_action(self, id: ActionId) -> Asked<ActionView> {
        self.ask(Request::CancelAction(id), action).await
    }

    /// Tries a dead letter again.
    pub async fn retry_dead(self, retry: RetryDead) -> Asked<ActionView> {
        self.ask(Request::RetryDead(retry), action).await
    }

    /// Puts a dead letter away.
    pub async fn archive(self, id: ActionId) -> Asked<ActionView> {
        self.ask(Request::Archive(id), action).await
    }

    async fn ask<T>(self, request: Request, read: impl FnOnce(Reply) -> Result<T, Refusal>) -> Asked<T> {
        self.ask_awaited(request, None, read).await
    }

    async fn ask_awaited<T>(
        self,
        request: Request,
        closed: Option<Closed>,
        read: impl FnOnce(Reply) -> Result<T, Refusal>,
    ) -> Asked<T> {
        let idempotency = self.key.as_ref().and_then(|key| Idempotency::of(key, &request));
        match self.inbox.ask_once(request, idempotency, closed).await {
            Ok(Answer::Replayed(first)) => Asked {
                answer: read(*first),
                replayed: true,
            },
            reply => Asked {
                answer: read(reply),
                replayed: false,
            },
        }
    }
}

fn applied(reply: Reply) -> Result<Applied, Refusal> {
    match reply? {
        Answer::Applied(applied) => Ok(applied),
        other => Err(unexpected(&other)),
    }
}

fn sent(reply: Reply) -> Result<Sent, Refusal> {
    match reply? {
        Answer::Sent(sent) => Ok(sent),
        other => Err(unexpected(&other)),
    }
}
