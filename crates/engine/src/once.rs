//! The requests that change something, each under an idempotency key: sent again, they give the first answer.

use sprag_core::ids::{ActionId, ExecutionId, JobId, SwitchId};
use sprag_core::machine::Machine;
use std::sync::Arc;
use tokio::sync::oneshot;

use crate::closings::{Closed, Closing};
use crate::command::{
    Answer, Applied, Apply, Code, Migrate, Refusal, Reply, Request, RetryDead, SendMessage, Sent, Start,
};
use crate::control::{self, Matches, SwitchOn, SwitchView};
use crate::handle::{Handle, action, execution, unexpected};
use crate::idempotency::{Idempotency, Key};
use crate::jobs::{JobView, RetryAll};
use crate::scopes::ScopeNames;
use crate::view::{ActionView, ExecutionView};

/// A way to a running engine for one request: with a key, it acts once however often it is sent.
#[derive(Clone)]
pub struct Once {
    pub(crate) handle: Handle,
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

impl<T> Asked<T> {
    /// The same; where the machine is unknown, with the known one that was most likely meant.
    async fn suggesting(self, handle: &Handle, machine: &str) -> Self {
        let Self { answer, replayed } = self;
        let answer = handle.suggesting(answer, machine).await;
        Self { answer, replayed }
    }
}

impl Once {
    /// Keeps a machine version, if the newest one is what `matches` says.
    pub async fn apply(self, machine: Machine, matches: Matches) -> Asked<Applied> {
        let machine = Arc::new(machine);
        self.ask(Request::Apply(Apply { machine, matches }), applied).await
    }

    /// Starts an execution.
    pub async fn start(self, start: Start) -> Asked<ExecutionView> {
        let (handle, name) = (self.handle.clone(), start.machine.clone());
        let asked = self.ask(Request::Start(start), execution).await;
        asked.suggesting(&handle, &name).await
    }

    /// Starts an execution, and gives what arrives once it is closed. For an answer that was given before nothing arrives.
    pub async fn start_awaited(self, start: Start) -> (Asked<ExecutionView>, Closing) {
        let (closed, closing) = oneshot::channel();
        let (handle, name) = (self.handle.clone(), start.machine.clone());
        let asked = self.ask_awaited(Request::Start(start), Some(closed), execution).await;
        (asked.suggesting(&handle, &name).await, closing)
    }

    /// Sends a message.
    pub async fn send(self, message: SendMessage) -> Asked<Sent> {
        self.ask(Request::Send(message), sent).await
    }

    /// Sends a message that counts once for what is given.
    pub(crate) async fn send_as(self, once: Idempotency, message: SendMessage) -> Asked<Sent> {
        self.ask_as(Request::Send(message), Some(once), None, sent).await
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

    /// Makes a job that tries dead letters again.
    pub async fn retry_all(self, retry: RetryAll) -> Asked<JobView> {
        self.ask(Request::RetryAll(retry), job).await
    }

    /// Holds a job between two steps.
    pub async fn pause_job(self, id: JobId) -> Asked<JobView> {
        self.change_job(id, Request::PauseJob(id)).await
    }

    /// Lets a job go on.
    pub async fn resume_job(self, id: JobId) -> Asked<JobView> {
        self.change_job(id, Request::ResumeJob(id)).await
    }

    /// Ends a job.
    pub async fn cancel_job(self, id: JobId) -> Asked<JobView> {
        self.change_job(id, Request::CancelJob(id)).await
    }

    /// The lane knows the open jobs only, so it is the store that tells one that is over from one that never was. The
    /// lane is asked first: it has the answers that are kept, whatever became of the job since.
    async fn change_job(self, id: JobId, request: Request) -> Asked<JobView> {
        let handle = self.handle.clone();
        let mut asked = self.ask(request, job).await;
        if asked
            .answer
            .as_ref()
            .is_err_and(|refusal| refusal.code == Code::JobUnknown)
        {
            asked.answer = handle.job(id).await.and_then(|view| {
                let detail = format!("job `{id}` is {}; it would have to be running or paused", view.status);
                Err(Refusal::new(Code::StatusConflict, detail))
            });
        }
        asked
    }

    /// Puts a switch on. Once this answers, no attempt in its scope begins. A scope that names nothing that exists is refused,
    /// unless `names` allows it.
    pub async fn switch_on(self, switch: SwitchOn, names: ScopeNames) -> Asked<SwitchView> {
        let handle = self.handle.clone();
        if names == ScopeNames::Known
            && let Err(refusal) = handle.check_scope(&switch.scope).await
        {
            return Asked {
                answer: Err(refusal),
                replayed: false,
            };
        }
        let request = Request::Control(control::Request::SwitchOn(switch));
        let Asked { answer, replayed } = self.ask(request, switch_view).await;
        let answer = match answer {
            Ok(view) if names == ScopeNames::Any => Ok(handle.matched(view).await),
            answer => answer,
        };
        Asked { answer, replayed }
    }

    /// Takes a switch off.
    pub async fn switch_off(self, id: SwitchId, matches: Matches) -> Asked<SwitchView> {
        let request = control::Request::SwitchOff { id, matches };
        self.ask(Request::Control(request), switch_view).await
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
        self.ask_as(request, idempotency, closed, read).await
    }

    async fn ask_as<T>(
        self,
        request: Request,
        idempotency: Option<Idempotency>,
        closed: Option<Closed>,
        read: impl FnOnce(Reply) -> Result<T, Refusal>,
    ) -> Asked<T> {
        match self.handle.inbox.ask_once(request, idempotency, closed).await {
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

fn job(reply: Reply) -> Result<JobView, Refusal> {
    match reply? {
        Answer::Job(view) => Ok(*view),
        other => Err(unexpected(&other)),
    }
}

fn switch_view(reply: Reply) -> Result<SwitchView, Refusal> {
    match reply? {
        Answer::Control(answer) => match *answer {
            control::Answer::Switch(view) => Ok(view),
            other => Err(unexpected(&Answer::Control(Box::new(other)))),
        },
        other => Err(unexpected(&other)),
    }
}
