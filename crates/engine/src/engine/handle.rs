//! What callers use: everything that can be asked of a running engine.
//!
//! Writes go through the lane and are durable when answered. Reads go past it, to committed state.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sprag_core::access::Caller;
use sprag_core::action::{ConfigProblem, SecretRules};
use sprag_core::document::source::Format;
use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::VerbSet;
use sprag_core::machine::{ConfigCheck, DefinitionLimits, LoadOptions, Loaded, Machine, UnknownType, load_text};
use tokio::sync::{Semaphore, broadcast, oneshot};

use super::asker::Asker;
use super::inbox::Inbox;
use super::leases::LeaseHandle;
use super::operate::OperatorHandle;
use super::operations::OperationsHandle;
use super::options::Limits;
use crate::decide::Change;
use crate::effects::closings::{Closing, Closings};
use crate::effects::grants::Masks;
use crate::effects::metrics::Metrics;
use crate::effects::tasks::{RunnerTypes, SecretSource};
use crate::lane::member::Whereabouts;
use crate::read::handle::ReadHandle;
use crate::read::lookup::{Caches, LookupHandle};
use crate::read::view::ExecutionView;
use crate::requests::audit::check_reason;
use crate::requests::idempotency::Idempotency;
use crate::requests::{Applied, Apply, Call, Closed, Refusal, Replied, Request, SendMessage, Sent, Start};

/// A way to a running engine. Cheap to clone.
///
/// It asks for changes, and leads to five others: [`Handle::read`], [`Handle::look_up`], [`Handle::operate`],
/// [`Handle::leases`] and [`Handle::operations`].
#[derive(Clone)]
pub struct Handle {
    pub(crate) inbox: Inbox,
    pub(crate) read: ReadHandle,
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) secrets: Arc<dyn SecretSource>,
    /// Where the lane looks for those who wait.
    pub(crate) closings: Closings,
    /// One backup at a time.
    pub(crate) backups: Arc<Semaphore>,
    pub(crate) metrics: Arc<Metrics>,
    /// What masks the secrets of attempts that programs hold.
    pub(crate) masks: Masks,
    /// Answers that callers share for a while.
    pub(crate) caches: Caches,
    /// Who asks where the program does not say who.
    pub(crate) local: Asker,
    /// The verbs of the audit that must have a reason.
    pub(crate) reasons: Arc<VerbSet>,
}

impl Handle {
    /// Reads committed state: views, lists, history, reports.
    pub fn read(&self) -> &ReadHandle {
        &self.read
    }

    /// What people look up: versions, groups of dead letters, past states, hits of a search, what is wrong.
    pub fn look_up(&self) -> LookupHandle<'_> {
        LookupHandle(self)
    }

    /// What operators do: switches, limits, jobs, the queue, backups.
    pub fn operate(&self) -> OperatorHandle<'_> {
        OperatorHandle(self)
    }

    /// What external runners do: take work, send heartbeats and outcomes.
    pub fn leases(&self) -> LeaseHandle<'_> {
        LeaseHandle(self)
    }

    /// Operations: the catalog, workflows and their approval.
    pub fn operations(&self) -> OperationsHandle<'_> {
        OperationsHandle(self)
    }

    /// Where everything is, where several nodes share the store.
    pub fn whereabouts(&self) -> Option<&Whereabouts> {
        self.read.whereabouts.as_ref()
    }

    /// Where secrets come from.
    pub(crate) fn secrets(&self) -> &dyn SecretSource {
        self.secrets.as_ref()
    }

    /// What the engine counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Microseconds since some instant: only to measure how long something took.
    pub fn micros(&self) -> u64 {
        self.read.clock.micros()
    }

    /// How many requests wait for the lane's answer.
    pub fn requests_waiting(&self) -> usize {
        self.inbox.waiting()
    }

    /// The bounds in force.
    pub fn limits(&self) -> Limits {
        self.read.limits
    }

    /// Engine time.
    pub fn now(&self) -> sprag_core::time::Timestamp {
        self.read.clock.now()
    }

    /// What the wall clock says, or the database where nodes share one. Unlike engine time, it may run backwards.
    pub fn wall(&self) -> sprag_core::time::Timestamp {
        self.read.clock.wall()
    }

    /// Lints a definition against the runners of this engine.
    pub fn lint(&self, text: &str, format: Format) -> Loaded {
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners: self,
        };
        load_text(text, format, &options)
    }

    /// Asks for something. The answer is durable.
    pub async fn ask<R: Request>(&self, request: R) -> Result<R::Answer, Refusal> {
        self.ask_as(request, &self.local, None).await.answer
    }

    /// Asks for something in the name of `asker`. It acts once, however often it is sent under the asker's key.
    pub async fn ask_once<R: Request>(&self, request: R, asker: &Asker) -> Replied<R::Answer> {
        self.ask_as(request, asker, None).await
    }

    /// The same, with the execution of the answer once it is closed. For an answer that was given before nothing arrives.
    pub async fn ask_closing<R: Request>(&self, request: R, asker: &Asker) -> (Replied<R::Answer>, Closing) {
        let (closed, closing) = oneshot::channel();
        (self.ask_as(request, asker, Some(closed)).await, closing)
    }

    /// Asks for something, if it has the reason that the audit asks for.
    async fn ask_as<R: Request>(&self, request: R, asker: &Asker, closed: Option<Closed>) -> Replied<R::Answer> {
        if let Err(refusal) = check_reason(&request, &asker.caller, &self.reasons) {
            return Replied::now(Err(refusal));
        }
        let once = asker.key.as_ref().and_then(|key| Idempotency::of(key, &request));
        self.ask_by(request, &asker.caller, once, closed).await
    }

    /// Asks for something that counts once for `once`.
    pub(crate) async fn ask_by<R: Request>(
        &self,
        request: R,
        caller: &Arc<Caller>,
        once: Option<Idempotency>,
        closed: Option<Closed>,
    ) -> Replied<R::Answer> {
        let (call, answer) = Call::asked(request);
        let call = call.by(Arc::clone(caller)).once(once).closing(closed);
        let Replied { answer, replayed } = self.inbox.ask(call, answer).await;
        Replied {
            answer: self.read.suggesting(answer).await,
            replayed,
        }
    }

    /// Keeps a machine version.
    pub async fn apply(&self, machine: Machine) -> Result<Applied, Refusal> {
        self.ask(Apply::from(Arc::new(machine))).await
    }

    /// Starts an execution.
    pub async fn start(&self, start: Start) -> Result<ExecutionView, Refusal> {
        self.ask(start).await.map(|view| *view)
    }

    /// Sends a message.
    pub async fn send(&self, message: SendMessage) -> Result<Sent, Refusal> {
        self.ask(message).await
    }

    /// Changes as they become durable. A listener that lags is told so and looks for itself.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// An execution once it is closed, or as it is when the time is up.
    pub async fn wait_closed(&self, id: ExecutionId, most: Duration) -> Result<ExecutionView, Refusal> {
        let closing = self.closings.wait(id);
        let view = self.read.execution(id).await?;
        if !view.is_open() {
            return Ok(view);
        }
        self.wait_closing(id, closing, most).await
    }

    /// What arrives when an execution closes, or the execution as it is when the time is up.
    pub async fn wait_closing(
        &self,
        id: ExecutionId,
        closing: Closing,
        most: Duration,
    ) -> Result<ExecutionView, Refusal> {
        match tokio::time::timeout(most, closing).await {
            Ok(Ok(view)) => Ok(view),
            Ok(Err(_)) | Err(_) => self.read.execution(id).await,
        }
    }

    /// What the runners say about action types.
    fn types(&self) -> RunnerTypes {
        RunnerTypes::new(&self.read.runners, &self.secrets)
    }
}

impl SecretRules for Handle {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        self.types().takes_secret(kind, pointer)
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.types().allows_secret(machine, name)
    }
}

impl ConfigCheck for Handle {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        self.types().check(kind, config)
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.types().warnings(kind, config)
    }
}
