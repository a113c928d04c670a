//! Requests: what callers, operators, other nodes and the engine itself ask of a lane.
//!
//! Each request is a type that implements [`Request`]: where it is routed, what it reads, how it is decided, and its
//! answer. One file holds a request or a family. A request that is added to a family needs nothing else here;
//! [`Handle::ask`](crate::Handle::ask) takes it from there.
//!
//! A [`Call`] is a request on its way: with its idempotency key, its caller and, once decided, its answer. [`Command`]
//! holds a call of any request, so that a batch is one vector.

/// Says, in the implementation of [`Request`], that [`Command`] has a variant of the request's name.
macro_rules! own_variant {
    ($name:ident) => {
        fn command(call: $crate::requests::Call<Self>) -> $crate::requests::Command {
            $crate::requests::Command::$name(call)
        }
    };
}

mod actions;
mod apply;
mod attempts;
pub(crate) mod audit;
pub mod codes;
mod dead_letters;
mod executions;
pub mod idempotency;
mod jobs;
mod leases;
mod limits;
mod migrate;
mod once;
pub mod operations;
mod queue;
mod refusal;
mod route;
mod send;
mod start;
mod switches;
mod timers;
mod tokens;
mod unknown;
mod upkeep;

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::access::Caller;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;
use tokio::sync::oneshot;

pub use self::actions::*;
pub use self::apply::*;
pub use self::attempts::*;
pub use self::audit::{Audit, Record};
pub use self::codes::Code;
pub use self::dead_letters::*;
pub use self::executions::*;
use self::idempotency::Idempotency;
pub use self::jobs::*;
pub use self::leases::*;
pub use self::limits::*;
pub use self::migrate::Migrate;
pub use self::operations::{
    ApplyCatalog, Approve, CancelWorkflow, CompensateExecution, ExpirePlan, Propose, Reject, ResumeWorkflow, Revoke,
};
pub use self::queue::ShowQueue;
pub use self::refusal::Refusal;
pub use self::route::Route;
pub use self::send::*;
pub use self::start::Start;
pub(crate) use self::start::start_version;
pub use self::switches::*;
pub use self::timers::*;
pub use self::tokens::*;
pub use self::upkeep::*;
use crate::decide::{Decider, Known, Reads};
pub use crate::jobs::dead_letters::RetryLetter;
pub use crate::jobs::{ArchiveAll, RetryAll};
pub use crate::leases::Poll;
pub use crate::limits::{GrantReceived, LimitDemand};
use crate::read::view::ExecutionView;

/// Something that a lane decides.
pub trait Request: Clone + Debug + Send + 'static {
    /// What the caller gets.
    type Answer: Answer;

    /// The name in logs and in the scopes of idempotency keys, which are stored: it never changes.
    const NAME: &'static str;

    /// Whether it may be decided while a commit before it is in flight.
    const OVERLAP: Overlap = Overlap::Alone;

    /// What the audit says of it; none where a principal decides nothing with it.
    const AUDIT: Option<Audit<Self>> = None;

    /// What becomes of a request of the engine's own when the store fails.
    const ON_STORE_FAILURE: Keep = Keep::Drop;

    /// Whether it acts once under an idempotency key, and its target says all about it.
    const KEYED_BY_TARGET: bool = false;

    /// What it is about, and so which shard decides it.
    fn route(&self) -> Route;

    /// What must be in memory when it is decided, if not just its target. Called again after each round of loading.
    fn reads(&self, reads: &mut Reads<'_>) {
        self.route().reads(reads);
    }

    /// What makes two of them the same under one idempotency key; none where it acts once by itself or changes nothing.
    fn subject(&self) -> Option<Subject> {
        let target = self.route().target().filter(|_| Self::KEYED_BY_TARGET)?;
        Some(Subject {
            target: Value::String(target),
            body: Value::Null,
        })
    }

    /// Decides it.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal>;

    /// What to decide instead, if the store refuses what it writes.
    fn if_refused(&self) -> IfRefused<Self> {
        IfRefused::Fail
    }

    /// The command that holds this call. Requests that come by the thousand have a variant of their own: `own_variant!`.
    fn command(call: Call<Self>) -> Command {
        Command::Other(OtherCall(Box::new(call)))
    }
}

/// Whether a request may be decided on commits that are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// It changes nothing but executions: it may be.
    Everyday,
    /// It is decided on durable state alone.
    Alone,
}

/// What becomes of a request of the engine's own when the store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The store brings it back.
    Drop,
    /// Only memory knows of it: it waits for the store.
    Requeue,
    /// An interrupted attempt waits before all others.
    RequeueFirst,
}

/// What makes two requests of one kind the same under one idempotency key.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The target of the request.
    pub target: Value,
    /// The rest of the request.
    pub body: Value,
}

/// What to decide in the place of a request whose row the store refuses.
#[derive(Debug)]
pub enum IfRefused<R> {
    /// Nothing: the caller gets the error, and the engine's own request is dropped.
    Fail,
    /// The same request with a row that can be stored, for the same caller.
    Replace(R),
    /// Another request of the engine's own.
    Instead(Box<Command>),
}

/// What a request is answered with.
pub trait Answer: Debug + Send + Sized + 'static {
    /// Whether an idempotency key stores it.
    const IS_STORED: bool = false;

    /// The form in which an idempotency key stores it; none where it is not stored.
    fn encode(&self) -> Option<Vec<u8>> {
        None
    }

    /// The answer that [`Answer::encode`] stored.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let _ = bytes;
        None
    }

    /// Brings it up to date at the end of its batch.
    fn refresh(&mut self, known: &Known, now: Timestamp) {
        let _ = (known, now);
    }

    /// The execution that it shows, for callers that wait until the execution is closed.
    fn execution(&self) -> Option<ExecutionId> {
        None
    }
}

impl Answer for () {}

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Replied<A> {
    /// The answer.
    pub answer: Result<A, Refusal>,
    /// Whether it is the answer to an earlier request under the same idempotency key; this one did nothing.
    pub replayed: bool,
}

impl<A> Replied<A> {
    /// An answer that was decided just now.
    pub(crate) fn now(answer: Result<A, Refusal>) -> Self {
        Self {
            answer,
            replayed: false,
        }
    }
}

/// Where the closed execution goes.
pub type Closed = oneshot::Sender<ExecutionView>;

/// A request on its way through a lane.
#[derive(Debug)]
pub struct Call<R: Request> {
    /// What is asked.
    pub request: R,
    /// What makes it act once, where its caller gave a key.
    pub(crate) once: Option<Idempotency>,
    /// Who asks. The engine itself does where there is none.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Where the execution of the answer goes once it is closed.
    pub(crate) closed: Option<Closed>,
    /// Where the answer goes once it is durable. The engine's own requests have no caller.
    pub(crate) sender: Option<oneshot::Sender<Replied<R::Answer>>>,
    /// The answer, once decided. Deciding again overwrites it.
    pub(crate) decided: Option<Replied<R::Answer>>,
}

impl<R: Request> Call<R> {
    /// A request of the engine's own.
    pub fn own(request: R) -> Self {
        Self {
            request,
            once: None,
            caller: None,
            closed: None,
            sender: None,
            decided: None,
        }
    }

    /// A request with a caller.
    pub fn asked(request: R) -> (Self, oneshot::Receiver<Replied<R::Answer>>) {
        let (sender, answer) = oneshot::channel();
        let call = Self {
            sender: Some(sender),
            ..Self::own(request)
        };
        (call, answer)
    }

    /// The same, acting once.
    #[must_use]
    pub fn once(self, once: Option<Idempotency>) -> Self {
        Self { once, ..self }
    }

    /// The same, asked by `caller`.
    #[must_use]
    pub fn by(self, caller: Arc<Caller>) -> Self {
        let caller = Some(caller);
        Self { caller, ..self }
    }

    /// The same, whose execution goes to `closed` once it is closed.
    #[must_use]
    pub fn closing(self, closed: Option<Closed>) -> Self {
        Self { closed, ..self }
    }
}

/// What a lane does with a call, whatever its request. Implemented once, for [`Call`].
pub(crate) trait AnyCall: Debug + Send {
    fn name(&self) -> &'static str;
    fn overlap(&self) -> Overlap;
    fn keep(&self) -> Keep;
    /// The slot whose shard decides; none where any lane may.
    fn slot(&self) -> Option<Slot>;
    fn route(&self) -> Route;
    fn has_caller(&self) -> bool;
    fn reads(&self, reads: &mut Reads<'_>);
    fn decide(&mut self, decider: &mut Decider<'_>);
    fn refresh(&mut self, known: &Known, now: Timestamp);
    /// Stores the answer under its idempotency key, now that it is final.
    fn store_answer(&mut self, decider: &mut Decider<'_>);
    /// Takes the answer of the first request of the batch that has the same key.
    fn take_stored(&mut self, decider: &Decider<'_>);
    /// Where the execution of the answer goes once it is closed, and which it is.
    fn take_closed(&mut self) -> Option<(ExecutionId, Closed)>;
    fn awaits_close(&self) -> bool;
    /// Sends the answer. A caller that is gone does not undo what was decided.
    fn reply(&mut self);
    fn refuse(&mut self, refusal: Refusal);
    fn if_refused(self: Box<Self>) -> IfRefusedCall;
}

/// A command to decide in the place of one that the store refused, or the one that failed.
pub(crate) enum IfRefusedCall {
    Fail(Command),
    Decide(Command),
}

impl<R: Request> AnyCall for Call<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn overlap(&self) -> Overlap {
        match self.once {
            None => R::OVERLAP,
            Some(_) => Overlap::Alone,
        }
    }

    fn keep(&self) -> Keep {
        R::ON_STORE_FAILURE
    }

    fn slot(&self) -> Option<Slot> {
        self.request.route().slot(self.once.map(|once| once.scope.slot()))
    }

    fn route(&self) -> Route {
        self.request.route()
    }

    fn has_caller(&self) -> bool {
        self.sender.is_some()
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        self.request.reads(reads);
        if let Some(once) = self.once {
            reads.answer(once.scope);
        }
    }

    fn decide(&mut self, decider: &mut Decider<'_>) {
        decider.caller = self.caller.take();
        let replied = audit::decide(self, decider, |decider| match self.once {
            None => Replied::now(self.request.decide(decider)),
            Some(once) => once::decide(&self.request, once, decider),
        });
        self.caller = decider.caller.take();
        self.decided = Some(replied);
    }

    fn refresh(&mut self, known: &Known, now: Timestamp) {
        if let Some(Replied {
            answer: Ok(answer),
            replayed: false,
        }) = &mut self.decided
        {
            answer.refresh(known, now);
        }
    }

    fn store_answer(&mut self, decider: &mut Decider<'_>) {
        if let (Some(once), Some(decided)) = (self.once, &self.decided) {
            once::store(once, decided, decider);
        }
    }

    fn take_stored(&mut self, decider: &Decider<'_>) {
        if let (Some(once), Some(decided)) = (self.once, &mut self.decided) {
            once::take_stored(once, decided, decider);
        }
    }

    fn take_closed(&mut self) -> Option<(ExecutionId, Closed)> {
        let closed = self.closed.take()?;
        // An answer that was given before shows an execution that may be closed already: its caller reads it.
        let decided = self.decided.as_ref().filter(|decided| !decided.replayed)?;
        let execution = decided.answer.as_ref().ok()?.execution()?;
        Some((execution, closed))
    }

    fn awaits_close(&self) -> bool {
        self.closed.is_some()
    }

    fn reply(&mut self) {
        if let (Some(sender), Some(decided)) = (self.sender.take(), self.decided.take()) {
            let _ = sender.send(decided);
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(Replied::now(Err(refusal)));
        }
    }

    fn if_refused(self: Box<Self>) -> IfRefusedCall {
        match self.request.if_refused() {
            IfRefused::Fail => IfRefusedCall::Fail(R::command(*self)),
            IfRefused::Replace(request) => IfRefusedCall::Decide(R::command(Self { request, ..*self })),
            IfRefused::Instead(command) => IfRefusedCall::Decide(*command),
        }
    }
}

/// A call of a request that has no variant of its own in [`Command`].
#[derive(Debug)]
pub struct OtherCall(Box<dyn AnyCall>);

/// Generates [`Command`] and its one match.
macro_rules! commands {
    ($($name:ident),* $(,)?) => {
        /// A call of any request. Those that come by the thousand are held as they are, all others in a box.
        #[derive(Debug)]
        pub enum Command {
            $(#[doc = concat!("[`", stringify!($name), "`]")] $name(Call<$name>),)*
            /// Any other.
            Other(OtherCall),
        }

        impl Command {
            pub(crate) fn call(&self) -> &dyn AnyCall {
                match self {
                    $(Self::$name(call) => call,)*
                    Self::Other(OtherCall(call)) => &**call,
                }
            }

            pub(crate) fn call_mut(&mut self) -> &mut dyn AnyCall {
                match self {
                    $(Self::$name(call) => call,)*
                    Self::Other(OtherCall(call)) => &mut **call,
                }
            }

            pub(crate) fn if_refused(self) -> IfRefusedCall {
                match self {
                    $(Self::$name(call) => Box::new(call).if_refused(),)*
                    Self::Other(OtherCall(call)) => call.if_refused(),
                }
            }
        }
    };
}

commands! {
    Start, SendMessage, ReportOutcome, TimerDue, ActionDue, Begin, Interrupted, Poll, Heartbeat, Finish, LimitDemand,
    GrantReceived,
}

impl Command {
    /// A request of the engine's own.
    pub fn own<R: Request>(request: R) -> Self {
        R::command(Call::own(request))
    }

    /// A request with a caller.
    pub fn asked<R: Request>(request: R) -> (Self, oneshot::Receiver<Replied<R::Answer>>) {
        let (call, answer) = Call::asked(request);
        (R::command(call), answer)
    }

    /// The slot whose shard decides; none where any lane may.
    pub fn slot(&self) -> Option<Slot> {
        self.call().slot()
    }

    /// The action that it starts.
    pub(crate) fn begins(&self) -> Option<(ExecutionId, ActionId)> {
        match self {
            Self::Begin(call) => Some((call.request.execution, call.request.action)),
            _ => None,
        }
    }
}

/// Whether these commands may be decided and written while a commit is in flight.
pub(crate) fn may_overlap(commands: &[Command]) -> bool {
    let mut calls = commands.iter().map(Command::call);
    calls.all(|call| call.overlap() == Overlap::Everyday)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_small_enough_to_move_in_batches() {
        // A batch moves its commands several times: a larger request belongs into a box.
        let bytes = size_of::<Command>();
        assert!(bytes <= 512, "{bytes} bytes");
    }
}
