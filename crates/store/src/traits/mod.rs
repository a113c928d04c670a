//! The store, by caller: what the lane writes and loads, what the dispatcher asks for, what readers may see.
//!
//! Written for backends with many shards and many writers: every commit carries the fences of the shards it touches,
//! and a backend that finds a fence broken commits nothing.

mod error;
#[cfg(feature = "failpoints")]
pub mod failpoint;
pub mod hooked;
mod lane;
mod lookup;
pub mod page;
mod plans;

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::task::{Context, Poll, Waker};

use sprag_core::action::Status;
use sprag_core::filter::Condition;
use sprag_core::ids::{ActionId, ExecutionId, JobId, Slot, WorkflowId};
use sprag_core::integrity::audit;
use sprag_core::time::Timestamp;

use crate::page::{Page, PageLimit, Paged, ReadKind};
use crate::records::{
    Action, CatalogKind, CatalogVersion, Execution, ExecutionStatus, Fact, FactKind, HistoryEntry, Idempotency,
    InboxEntry, Job, JobItem, MachineVersion, Plan, ProcessRun, Receipt, Scope, Timer, TimerKey,
};
pub use error::Error;
pub use lane::{CommitStore, LaneReads, LaneStore};
pub(crate) use lookup::counted;
pub use lookup::{GroupBounds, KeyHolder, LetterGroup, LetterGroups, Lookup, OpenCounts, TimerPosition};
pub use plans::{DuePlan, OPEN_PLANS_MAX, OpenPlan, PlanQuery, Proposals, WaitingPlan};

/// A range of slots with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

/// The right to write to a shard: void once another owner raised the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Which shard.
    pub shard: ShardId,
    /// Raised by every change of owner.
    pub epoch: u64,
}

/// What is to be written at once: all or nothing.
#[derive(Clone, Debug)]
pub struct Commit {
    /// What must hold.
    pub fences: Vec<Fence>,
    /// What is written, in order.
    pub mutations: Vec<Mutation>,
}

/// Commits on their way to a store, and what became of them on its way back.
pub trait Queue {
    /// The next commit. Pending while none waits; none if none will come.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Commit>>;

    /// The next commit, if one waits.
    fn next(&mut self) -> Option<Commit> {
        match self.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        }
    }

    /// What became of the oldest commit that was taken and not told of yet.
    fn tell(&mut self, result: Result<(), Error>);
}

/// One write. A commit is a list of them, applied in order, all or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A new version of a machine.
    InsertMachineVersion(MachineVersion),
    /// Writes nothing: the commit is written only if no version of the machine is newer than this one, which was decided on.
    ExpectNewest {
        /// Its name.
        machine: String,
        /// The newest that was known.
        version: u32,
    },
    /// A new execution.
    InsertExecution(Execution),
    /// An execution that changed; its variables may not have.
    UpdateExecution {
        /// The record as it is now.
        execution: Execution,
        /// Whether the variables must be written too.
        variables: Variables,
    },
    /// One more entry of a history.
    AppendHistory(HistoryEntry),
    /// A new action.
    InsertAction(Action),
    /// An action that changed.
    UpdateAction(Action),
    /// A timer that begins, or moves.
    PutTimer(Timer),
    /// A timer that fired or was ended.
    DeleteTimer(TimerKey),
    /// Input that must wait.
    InsertInbox(InboxEntry),
    /// Input that was taken.
    DeleteInbox {
        /// Whose.
        execution: ExecutionId,
        /// Which.
        position: u64,
    },
    /// The answer to a message with an id.
    InsertReceipt(Receipt),
    /// The message's id may be used again.
    DeleteReceipt {
        /// Who received it.
        execution: ExecutionId,
        /// The sender's id.
        message: String,
    },
    /// The answer to a request with an `Idempotency-Key`; takes the place of one that expired.
    PutIdempotency(Idempotency),
    /// The answer to a request whose scope belongs to no shard, so that several nodes may answer it: the commit is written only if
    /// none of them has.
    InsertIdempotency(Idempotency),
    /// The key may be used again.
    DeleteIdempotency(Scope),
    /// This process is alive.
    PutRun(ProcessRun),
    /// A fact of the control shard, new or changed.
    PutFact(Fact),
    /// A fact that is no longer true.
    DeleteFact {
        /// What it was about.
        kind: FactKind,
        /// Which one.
        key: String,
    },
    /// A closed execution goes, with everything that belongs to it.
    DeleteExecution(ExecutionId),
    /// A job that is new or changed.
    PutJob(Job),
    /// One more item of a job.
    InsertJobItem(JobItem),
    /// Items of a job are forgotten, up to and including a number.
    DeleteJobItems {
        /// Whose.
        job: JobId,
        /// The last of them.
        up_to: u64,
    },
    /// A job is forgotten. Its items go before it.
    DeleteJob(JobId),
    /// One more entry of a chain of the audit.
    InsertAudit(audit::Entry),
    /// A new version of an entry of the catalog.
    InsertCatalogVersion(CatalogVersion),
    /// A plan that is new, or about which something was decided. What was proposed stays as it is stored.
    PutPlan(Plan),
}

/// Whether an update writes the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// They are as they were.
    Unchanged,
    /// They must be written.
    Changed,
}

/// What a batch needs before it can decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Executions by id, with all that belongs to them.
    pub executions: Vec<ExecutionId>,
    /// Open executions by machine and key: answered with their ids only.
    pub keys: Vec<(String, String)>,
    /// Executions that actions belong to.
    pub actions: Vec<ActionId>,
    /// Answers to messages.
    pub receipts: Vec<(ExecutionId, String)>,
    /// Machines whose newest version is asked for.
    pub newest: Vec<String>,
    /// Machine versions, by machine and number.
    pub versions: Vec<(String, u32)>,
    /// Machines and digests: answered with the highest version of the machine that has the digest.
    pub version_by_digest: Vec<(String, [u8; 32])>,
    /// Answers to requests with an `Idempotency-Key`.
    pub idempotency: Vec<Scope>,
    /// Plans by id.
    pub plans: Vec<WorkflowId>,
    /// Principals whose open plans are asked for.
    pub proposers: Vec<String>,
}

/// What was found of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The executions found.
    pub executions: Vec<LoadedExecution>,
    /// Who holds which key.
    pub keys: Vec<((String, String), ExecutionId)>,
    /// The actions found, ended ones included.
    pub actions: Vec<Action>,
    /// The answers found.
    pub receipts: Vec<Receipt>,
    /// The newest version of each machine that exists.
    pub newest: Vec<(String, u32)>,
    /// The machine versions found.
    pub versions: Vec<MachineVersion>,
    /// The highest version with each digest, where there is one.
    pub version_by_digest: Vec<((String, [u8; 32]), u32)>,
    /// The answers to keys found, expired ones included.
    pub idempotency: Vec<Idempotency>,
    /// The plans found.
    pub plans: Vec<Plan>,
    /// The open plans of each principal.
    pub proposals: Vec<Proposals>,
}

/// An execution with all that is open about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedExecution {
    /// The execution.
    pub execution: Execution,
    /// Its open actions (scheduled, queued, running, retrying), by id.
    pub actions: Vec<Action>,
    /// Its timers, by key.
    pub timers: Vec<Timer>,
    /// Its inbox, by position.
    pub inbox: Vec<InboxEntry>,
}

/// An open action, by its position among those of its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenAction {
    /// Whose.
    pub execution: ExecutionId,
    /// Which.
    pub action: ActionId,
}

/// An old execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    /// Which.
    pub execution: ExecutionId,
    /// How many history entries it has.
    pub entries: u64,
    /// Whether it may be deleted.
    pub goes: bool,
}

/// An action that is due at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueAction {
    /// Which.
    pub action: ActionId,
    /// Whose.
    pub execution: ExecutionId,
    /// When.
    pub run_at: Timestamp,
}

/// A place in a queue: the order in which it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyKey {
    /// Higher first.
    pub priority: u8,
    /// Earlier first.
    pub run_at: Timestamp,
    /// Smaller first.
    pub action: ActionId,
}

/// A queued action in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyRef {
    /// Its place.
    pub key: ReadyKey,
    /// Whose.
    pub execution: ExecutionId,
}

/// A place in the audit: the order in which it is listed, backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditKey {
    /// When it was decided.
    pub at: Timestamp,
    /// Whose chain.
    pub shard: ShardId,
    /// Which entry of it.
    pub sequence: u64,
}

impl AuditKey {
    /// Behind every entry.
    pub const END: Self = Self {
        at: Timestamp::MAX,
        shard: ShardId(u32::MAX),
        sequence: u64::MAX,
    };

    /// The place of an entry.
    pub fn of(entry: &audit::Entry) -> Self {
        Self {
            at: entry.at,
            shard: ShardId(entry.shard),
            sequence: entry.sequence,
        }
    }
}

impl fmt::Display for AuditKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.at.as_millis(), self.shard.0, self.sequence)
    }
}

impl FromStr for AuditKey {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().unwrap_or_default();
        Ok(Self {
            at: Timestamp::from_millis(part().parse()?),
            shard: ShardId(part().parse()?),
            sequence: part().parse()?,
        })
    }
}

/// What readers may ask. Readers see committed state only and never wait for a writer.
///
/// A page of a list may have fewer rows than asked for, because it ends at its bytes too: [`Paged::next`] tells whether it is the
/// last. A page has a row unless the list has ended.
pub trait Reader: Send + Lookup {
    /// Machines with their newest version, by name; without those that were made of plans.
    fn machines(&self, page: &Page<String>) -> Result<Paged<MachineVersion, String>, Error>;

    /// One version of a machine, or its newest.
    fn machine(&self, machine: &str, version: Option<u32>) -> Result<Option<MachineVersion>, Error>;

    /// One execution.
    fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, Error>;

    /// The status of an execution, without the rest of it.
    fn execution_status(&self, id: ExecutionId) -> Result<Option<ExecutionStatus>, Error>;

    /// The open execution that holds a key.
    fn execution_by_key(&self, machine: &str, key: &str) -> Result<Option<ExecutionId>, Error>;

    /// Executions, newest first.
    fn executions(&self, query: &ExecutionQuery) -> Result<Paged<Execution, ExecutionId>, Error>;

    /// A history by sequence, oldest first.
    fn history(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error>;

    /// The timers of an execution.
    fn timers(&self, id: ExecutionId) -> Result<Vec<Timer>, Error>;

    /// How many inputs wait for an execution.
    fn inbox_length(&self, id: ExecutionId) -> Result<u64, Error>;

    /// One action.
    fn action(&self, id: ActionId) -> Result<Option<Action>, Error>;

    /// Actions, newest first.
    fn actions(&self, query: &ActionQuery) -> Result<Paged<Action, ActionId>, Error>;

    /// The timers and the open actions of executions. Of each execution, `limit` bounds the actions in each status; the
    /// newest are kept.
    fn open_work(&self, executions: &[ExecutionId], limit: PageLimit) -> Result<OpenWork, Error> {
        let mut work = OpenWork::default();
        for id in executions {
            work.timers.extend(self.timers(*id)?);
            for status in Status::ALL.into_iter().filter(|status| status.is_open()) {
                let query = ActionQuery {
                    execution: Some(*id),
                    status: Some(status.number()),
                    page: Page::first(limit),
                    ..ActionQuery::default()
                };
                work.actions.extend(self.actions(&query)?.rows);
            }
        }
        Ok(work)
    }

    /// An execution with what is open of it.
    fn execution_with_work(&self, id: ExecutionId, limit: PageLimit) -> Result<Option<(Execution, OpenWork)>, Error> {
        let Some(row) = self.execution(id)? else {
            return Ok(None);
        };
        let work = if row.status.is_open() {
            self.open_work(&[id], limit)?
        } else {
            OpenWork::default()
        };
        Ok(Some((row, work)))
    }

    /// One fact of the control shard.
    fn fact(&self, kind: FactKind, key: &str) -> Result<Option<Fact>, Error>;

    /// Executions that meet a condition, newest first. A page may be empty and still not be the last.
    fn find_executions(&self, search: &Search<ExecutionId>) -> Result<Paged<Execution, ExecutionId>, Error>;

    /// Actions that meet a condition, newest first. A page may be empty and still not be the last.
    fn find_actions(&self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error>;

    /// How many actions meet a condition, of the newest `scan` that an index leads to.
    fn count_actions(&self, condition: &Condition, scan: usize) -> Result<Counted, Error>;

    /// One job.
    fn job(&self, id: JobId) -> Result<Option<Job>, Error>;

    /// Jobs, newest first.
    fn jobs(&self, page: &Page<JobId>) -> Result<Paged<Job, JobId>, Error>;

    /// Items of a job by number.
    fn job_items(&self, job: JobId, page: &Page<u64>) -> Result<Paged<JobItem, u64>, Error>;

    /// Entries of the audit, newest first: of one chain, by sequence, or of all, by time.
    fn audit(&self, shard: Option<ShardId>, page: &Page<AuditKey>) -> Result<Paged<audit::Entry, AuditKey>, Error>;

    /// The newest entry of every chain of the audit that has one, by shard.
    fn audit_heads(&self) -> Result<Vec<audit::Head>, Error>;

    /// Entries of the catalog of one kind with their newest version, by name.
    fn catalog(&self, kind: CatalogKind, page: &Page<String>) -> Result<Paged<CatalogVersion, String>, Error>;

    /// One version of an entry of the catalog, or its newest.
    fn catalog_version(
        &self,
        kind: CatalogKind,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogVersion>, Error>;

    /// One plan.
    fn plan(&self, id: WorkflowId) -> Result<Option<Plan>, Error>;

    /// Plans, newest first.
    fn plans(&self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error>;

    /// Plans that wait for a person, most urgent first.
    fn waiting_plans(&self, page: &Page<WaitingPlan>) -> Result<Paged<Plan, WaitingPlan>, Error>;

    /// How many executions are open, by status. A status that none has is left out.
    fn open_executions(&self) -> Result<Vec<(ExecutionStatus, u64)>, Error>;

    /// How many actions are queued, and since when, by queue. Those that a pause or a switch holds have an empty queue.
    fn queued_actions(&self) -> Result<Vec<QueuedCount>, Error>;

    /// How many dead letters wait for a person.
    fn dead_letters(&self) -> Result<u64, Error>;

    /// How large the store is on disk.
    fn file_bytes(&self) -> Result<FileBytes, Error>;
}

/// Rows that one page of a search looks at, whether they meet the condition or not. A store may look at fewer where each
/// costs it more.
pub const SCAN_MAX: usize = 10_000;

/// A page of what meets a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search<I> {
    /// What must hold.
    pub condition: Condition,
    /// Which page.
    pub page: Page<I>,
    /// At most so many are looked at: [`SCAN_MAX`], fewer in tests.
    pub scan: usize,
}

/// How many rows meet a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Those that were looked at and do.
    pub count: u64,
    /// Whether there may be more that were not looked at.
    pub more: bool,
}

/// The queued actions of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCount {
    /// The queue's name.
    pub queue: String,
    /// How many there are.
    pub count: u64,
    /// When the oldest of them became ready.
    pub oldest: Timestamp,
}

/// The size of a store on disk, by what the bytes are. A store in memory has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileBytes {
    /// The records.
    pub main: u64,
    /// What was committed and is not among the records yet.
    pub log: u64,
}

/// Hands out readers, each for one question or a few: a bounded number at a time.
pub trait Readers: Send + Sync {
    /// A reader of a kind; waits for one to be free.
    fn reader(&self, kind: ReadKind) -> Result<Box<dyn Reader + '_>, Error>;

    /// A copy of everything as of one instant, with `mark` added to it, in a file that has no name any more. The writer
    /// continues meanwhile. Only a store that is a file can do it; others say what is to be used instead.
    fn snapshot(&self, mark: &Fact) -> Result<std::fs::File, Error>;

    /// How many bytes of the log the last checkpoint could not copy, because a reader still needs them. Zero where there is no log.
    fn held_bytes(&self) -> u64 {
        0
    }
}

/// Which executions to list. A field that is not given restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionQuery {
    /// Of this machine.
    pub machine: Option<String>,
    /// In this status.
    pub status: Option<ExecutionStatus>,
    /// With this key, open or closed.
    pub key: Option<String>,
    /// Which page.
    pub page: Page<ExecutionId>,
}

/// Which actions to list. A field that is not given restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionQuery {
    /// Of this execution.
    pub execution: Option<ExecutionId>,
    /// Of this machine.
    pub machine: Option<String>,
    /// With this name.
    pub action_id: Option<String>,
    /// Of this type.
    pub kind: Option<String>,
    /// In this status, by number.
    pub status: Option<u8>,
    /// Whose last error was of this type.
    pub error_kind: Option<String>,
    /// Which page.
    pub page: Page<ActionId>,
}

/// What is open of some executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenWork {
    /// Their timers, by execution and key.
    pub timers: Vec<Timer>,
    /// Their open actions.
    pub actions: Vec<Action>,
}

/// Which shard owns a slot, when there are `shards` of them: even ranges, in order.
pub fn shard_of(slot: Slot, shards: u32) -> ShardId {
    ShardId(u32::try_from((u64::from(slot.0) * u64::from(shards)) >> 16).unwrap_or(0))
}

/// The least id that an execution started after `at` can have: ids are in the order of time.
pub(crate) fn first_after(at: Timestamp) -> ExecutionId {
    ExecutionId::compose(at.plus(1), Slot(0), 0)
}
