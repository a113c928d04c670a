//! What a lane is asked, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::Outcome;
use sprag_core::expression::template::Frozen;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, JobId};
use sprag_core::machine::Machine;
use sprag_core::patch::Operation;
use sprag_store::ShardId;
use sprag_store::records::TimerKey;
use tokio::sync::oneshot;

pub use sprag_wire::Start;

use crate::closings::Closed;
pub use crate::codes::Code;
use crate::control::{self, Matches};
use crate::dispatch::PollId;
use crate::homes::{Allowed, Heard, Statement};
use crate::idempotency::Idempotency;
use crate::jobs::{JobView, RetryAll};
use crate::leasing::{Beat, Finished, Leased, Poll};
use crate::letters::{Dealt, RetryLetter};
use crate::queue::LinesInMemory;
use crate::view::{ActionView, ExecutionView};

/// A request with the way back to whoever asked.
#[derive(Debug)]
pub struct Command {
    /// What is asked.
    pub request: Request,
    /// What makes it act once, where whoever asked gave a key.
    pub idempotency: Option<Idempotency>,
    /// Where the answer goes, once what it says is durable. The engine's own requests have nobody to answer.
    pub reply: Option<oneshot::Sender<Reply>>,
    /// Where the execution goes that the answer speaks of, once it is closed.
    pub closed: Option<Closed>,
}

impl Command {
    /// A request of the engine's own: there is nobody to answer.
    pub fn own(request: Request) -> Self {
        Self {
            request,
            idempotency: None,
            reply: None,
            closed: None,
        }
    }

    /// A request whose answer goes to somebody.
    pub fn asked(request: Request, reply: oneshot::Sender<Reply>) -> Self {
        Self {
            reply: Some(reply),
            ..Self::own(request)
        }
    }
}

/// The answer to a command.
pub type Reply = Result<Answer, Refusal>;

/// What can be asked of a lane.
#[derive(Clone, Debug)]
pub enum Request {
    /// Keep a machine version.
    Apply(Apply),
    /// Start an execution.
    Start(Start),
    /// Send a message.
    Send(SendMessage),
    /// Hold decisions and starts.
    Pause(ExecutionId),
    /// Go on.
    Resume(ExecutionId),
    /// End it, and all its open actions.
    Cancel(ExecutionId),
    /// Move it to another version.
    Migrate(Migrate),
    /// Let a retrying or scheduled action be due now.
    RetryNow(ActionId),
    /// End an action.
    CancelAction(ActionId),
    /// Try a dead letter again.
    RetryDead(RetryDead),
    /// Try a dead letter again for another node's job.
    RetryLetter(Box<RetryLetter>),
    /// Put a dead letter away.
    Archive(ActionId),
    /// Make a job that tries dead letters again.
    RetryAll(RetryAll),
    /// Hold a job.
    PauseJob(JobId),
    /// Let a job go on.
    ResumeJob(JobId),
    /// End a job.
    CancelJob(JobId),
    /// Say why an action does not move, as the dispatcher knows it.
    Explain(ActionId),
    /// Say what waits and what runs.
    Queue,
    /// A program asks for work. Answered when there is some, or when its time is up.
    Lease(Poll),
    /// A program is alive, and may want a value committed with its attempt.
    Heartbeat(AttemptId, Option<Value>),
    /// A program ended its attempt.
    Finish(AttemptId, Outcome),
    /// The configuration of an attempt that is some program's, secrets still to be bound.
    LeasedConfig(AttemptId),
    /// Another node says what it has and wants under a limit whose home is here.
    State(Statement),
    /// What operators set for everybody.
    Control(control::Request),
    /// The engine's own.
    Internal(Internal),
}

/// What the engine asks of its own lane.
#[derive(Clone, Debug)]
pub enum Internal {
    /// An attempt ended.
    Outcome {
        /// Which.
        attempt: AttemptRef,
        /// How.
        outcome: Outcome,
    },
    /// An attempt wants a value committed with it.
    Checkpoint {
        /// Which.
        attempt: AttemptRef,
        /// What.
        value: Value,
    },
    /// A timer or schedule may be due.
    Timer(TimerKey),
    /// A scheduled or retrying action may be due.
    Due(ExecutionId, ActionId),
    /// An action that the dispatcher chose, whose execution had to be loaded first.
    Begin(ExecutionId, ActionId),
    /// An action that an earlier process left running.
    Lost(ExecutionId, ActionId),
    /// The home of a limit answered, or could not be asked.
    Heard(Heard),
    /// An attempt was asked to stop and did not.
    Overdue(AttemptRef),
    /// Nothing was heard of an attempt that is some program's for as long as its lease.
    LeaseOver(AttemptRef),
    /// Input waits in the inbox of a running execution.
    Continue(ExecutionId),
    /// Work that follows from what operators set, or from age.
    Chore(control::Chore),
    /// The next page of a job.
    JobStep(JobStep),
    /// Other nodes dealt with letters of a job, or could not be asked.
    Dealt {
        /// Whose letters.
        job: JobId,
        /// Those that were dealt with.
        dealt: Vec<Dealt>,
    },
    /// Items of a job that is too old to be kept.
    ForgetJob {
        /// Whose.
        job: JobId,
        /// The last of them.
        up_to: u64,
        /// Whether the job itself goes too.
        is_last: bool,
    },
}

/// A page of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// Which job.
    pub job: JobId,
    /// The dead letters that its filter met.
    pub letters: Vec<ActionId>,
    /// Those that other nodes have.
    pub elsewhere: Vec<ActionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<ActionId>,
}

/// An attempt, with where to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptRef {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its action.
    pub action: ActionId,
    /// Whose.
    pub execution: ExecutionId,
}

/// A machine to keep.
#[derive(Clone, Debug)]
pub struct Apply {
    /// What it is.
    pub machine: Arc<Machine>,
    /// Only if its newest version is this one.
    pub matches: Matches,
}

impl From<Arc<Machine>> for Apply {
    /// Whatever its newest version is.
    fn from(machine: Arc<Machine>) -> Self {
        Self {
            machine,
            matches: Matches::Any,
        }
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct SendMessage {
    /// To whom.
    pub to: Target,
    /// What it is.
    pub kind: String,
    /// What it carries.
    pub payload: Value,
    /// Unique for the execution's life; the same id again gives the first answer.
    pub id: Option<String>,
}

/// How an execution is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By id.
    Id(ExecutionId),
    /// By the machine and key of an open one.
    Key {
        /// The machine's name.
        machine: String,
        /// The key.
        key: String,
    },
}

/// A move to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrate {
    /// Which execution.
    pub execution: ExecutionId,
    /// The newest version, when not given.
    pub version: Option<u32>,
    /// Old state paths to new ones, where they differ.
    pub states: BTreeMap<String, String>,
}

/// Another try at a dead letter.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryDead {
    /// Which.
    pub action: ActionId,
    /// Another configuration: raises the generation, so the idempotency key is a new one.
    pub config: Option<Value>,
    /// Take the definition of this version.
    pub version: Option<u32>,
    /// Changes of the action as one document of `timeout`, `retryPolicy` and `config`.
    pub patch: Vec<Operation>,
}

impl RetryDead {
    /// As it is.
    pub fn as_is(action: ActionId) -> Self {
        Self {
            action,
            config: None,
            version: None,
            patch: Vec::new(),
        }
    }
}

/// What a lane answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The machine version is kept.
    Applied(Applied),
    /// The execution as it is now.
    Execution(Box<ExecutionView>),
    /// The message was taken.
    Sent(Sent),
    /// The action as it is now.
    Action(Box<ActionView>),
    /// The value is committed.
    Checkpointed,
    /// The program waits for work; the answer comes later.
    Polling(PollId),
    /// Attempts for a program.
    Leased(Vec<Leased>),
    /// The heartbeat was heard.
    Beat(Beat),
    /// The attempt has ended.
    Finished(Finished),
    /// The configuration of an attempt, if it is some program's.
    LeasedConfig(Option<Box<Frozen>>),
    /// What holds lines back and what runs.
    Queue(LinesInMemory),
    /// What a node is allowed under a limit.
    Allowed(Allowed),
    /// What became of a dead letter.
    Letter(Dealt),
    /// What operators have set.
    Control(Box<control::Answer>),
    /// The job as it is now.
    Job(Box<JobView>),
    /// The answer to an earlier command under the same idempotency key; this one did nothing.
    Replayed(Box<Reply>),
}

/// What came of applying a machine: the version that new executions use from now on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Applied {
    /// The machine's name.
    pub id: String,
    /// Its newest version.
    pub version: u32,
    /// Whether the version is new, or was the newest before.
    pub created: bool,
    /// The latest earlier version with the same content as a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u32>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// To whom.
    pub execution: ExecutionId,
    /// Whether a transition answered it.
    pub handled: bool,
    /// It waits in the inbox.
    #[serde(default)]
    pub queued: bool,
    /// The active states afterwards.
    pub configuration: Vec<String>,
    /// The sequence of its history entry.
    pub sequence: u64,
    /// What the active states accept, where no transition answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
}

/// Why something was refused. Codes are stable and have a page each.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    /// The stable name.
    pub code: Code,
    /// What, with the value.
    pub detail: String,
    /// Where in what was sent, as JSON pointers, with what is wrong there.
    pub errors: Vec<(String, String)>,
    /// The shard it must be asked of another node for: this one decided nothing.
    pub elsewhere: Option<ShardId>,
}

impl Refusal {
    /// A refusal that points nowhere in particular.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            elsewhere: None,
        }
    }
}
