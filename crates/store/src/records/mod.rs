//! Stored records: the rows both backends keep, in the types of neither.
//!
//! Searchable fields are fields of the record; everything else is a body of JSON bytes exactly as it was serialised.
//! What the bodies mean is the engine's business: the store never parses them.

mod catalog;
pub(crate) mod checks;
mod plan;
mod rows;

use sprag_core::ids::{ActionId, ExecutionId, JobId, Slot};
use sprag_core::time::Timestamp;
use sprag_core::words;

pub use self::catalog::{CatalogKind, CatalogVersion};
pub use self::plan::{Plan, workflow_machine};
pub use sprag_core::operation::WorkflowStatus;

/// JSON as it was serialised.
pub type Json = Vec<u8>;

/// One version of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineVersion {
    /// The machine's name.
    pub machine: String,
    /// From 1.
    pub version: u32,
    /// Of the canonical definition.
    pub digest: [u8; 32],
    /// As it was given.
    pub definition: Json,
    /// When it was applied.
    pub created_at: Timestamp,
}

words! {
    /// The status of an execution. The numbers are stored: never renumber.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum ExecutionStatus as word {
        /// Takes input.
        Running = 0 => "running",
        /// Input waits in the inbox until an operator resumes it.
        Paused = 1 => "paused",
        /// A decision failed; its input waits at the head of the inbox.
        Failed = 2 => "failed",
        /// Reached a top-level final state.
        Completed = 3 => "completed",
        /// An operator ended it.
        Cancelled = 4 => "cancelled",
    }
}

impl ExecutionStatus {
    /// Whether the execution still holds its key.
    pub fn is_open(self) -> bool {
        self <= Self::Failed
    }
}

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Its id; the slot inside says which shard owns it.
    pub id: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// The version it is pinned to.
    pub version: u32,
    /// Unique among the open executions of the machine.
    pub key: Option<String>,
    /// Its status.
    pub status: ExecutionStatus,
    /// The sequence of its newest history entry.
    pub sequence: u64,
    /// When it started: the instant of its id.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Configuration, visits, history values, output and the like.
    pub body: Json,
    /// The variables.
    pub variables: Json,
    /// For filters. They never change.
    pub tags: Vec<String>,
}

/// One entry of an execution's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Whose.
    pub execution: ExecutionId,
    /// Dense, from 1.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// Cause, transitions, changed variables.
    pub body: Json,
}

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// The execution it belongs to.
    pub execution: ExecutionId,
    /// The machine's name.
    pub machine: String,
    /// The name of the action in the machine.
    pub action_id: String,
    /// Which runner performs it.
    pub kind: String,
    /// The number of its status: see [`sprag_core::action::Status`].
    pub status: u8,
    /// Type and limit keys: the queue it waits in.
    pub line: String,
    /// 0–100, higher first.
    pub priority: u8,
    /// When it is due, or was last made ready.
    pub run_at: Timestamp,
    /// When it was triggered: the instant of its id.
    pub created_at: Timestamp,
    /// The type of the last error.
    pub error_kind: Option<String>,
    /// What a dead letter has in common with others that failed like it.
    pub fingerprint: Option<String>,
    /// When it became a dead letter, while it is one.
    pub died_at: Option<Timestamp>,
    /// Everything else.
    pub body: Json,
    /// For filters. They never change.
    pub tags: Vec<String>,
}

/// A timer or a schedule of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Which.
    pub key: TimerKey,
    /// When it is due; for a schedule, its next nominal time.
    pub due_at: Timestamp,
    /// The action id of a schedule; none for an `after`.
    pub schedule: Option<String>,
}

/// Which timer of which visit of which execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    /// Whose.
    pub execution: ExecutionId,
    /// The visit it belongs to.
    pub visit: u64,
    /// Its position among the visit's `after`s; schedules count on from [`TimerKey::SCHEDULES`].
    pub index: u16,
}

impl TimerKey {
    /// The first index of a schedule.
    pub const SCHEDULES: u16 = 0x8000;
}

/// Input that waits until its execution is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    /// Whose.
    pub execution: ExecutionId,
    /// Arrival order within the execution.
    pub position: u64,
    /// The cause, and how it was answered.
    pub body: Json,
}

/// The answer given to a message with an id of its sender's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who received it.
    pub execution: ExecutionId,
    /// The sender's id.
    pub message: String,
    /// What was answered.
    pub answer: Json,
}

/// What an `Idempotency-Key` counts for: who asks what of whom under which key. The first 16 bits are the slot of the
/// target, so the shard that decides is known without a look-up; the rest is a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(pub [u8; 32]);

impl Scope {
    /// A scope in this slot. The digest's first 16 bits give way to it.
    pub fn new(slot: Slot, digest: [u8; 32]) -> Self {
        let mut bytes = digest;
        let [high, low] = slot.0.to_be_bytes();
        (bytes[0], bytes[1]) = (high, low);
        Self(bytes)
    }

    /// The slot that decides which shard owns it.
    pub fn slot(self) -> Slot {
        let Self([high, low, ..]) = self;
        Slot(u16::from_be_bytes([high, low]))
    }
}

/// The answer given to a request with an `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// What the key counts for.
    pub scope: Scope,
    /// Of what was asked: another one under the same scope is refused.
    pub digest: [u8; 32],
    /// What was answered.
    pub answer: Json,
    /// From then on the key may be used again.
    pub expires_at: Timestamp,
}

/// One life of a process on this store: what tells a crash loop from a long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRun {
    /// When it began.
    pub started_at: Timestamp,
    /// When it was last seen alive.
    pub seen_at: Timestamp,
}

/// What a fact of the control shard is about. The numbers are stored: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum FactKind {
    /// A kill switch that is on, by its id.
    Switch = 0,
    /// An operator's override of a limit, by its key.
    Limit = 1,
    /// How far work of the engine's own has come, by its name.
    Mark = 2,
    /// What a restore left to say, by its name.
    Restored = 3,
    /// What callers show to the server, by its id.
    Token = 4,
}

impl FactKind {
    /// All of them, by number.
    pub const ALL: [Self; 5] = [Self::Switch, Self::Limit, Self::Mark, Self::Restored, Self::Token];
}

/// One fact of the control shard: few, small, and true until it is put again or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub kind: FactKind,
    /// Which one.
    pub key: String,
    /// What it says.
    pub body: Json,
}

words! {
    /// The status of a job. The numbers are stored: never renumber.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum JobStatus as word {
        /// Continues by itself.
        Running = 0 => "running",
        /// Waits until an operator resumes it.
        Paused = 1 => "paused",
        /// Nothing is left to do.
        Completed = 2 => "completed",
        /// An operator ended it.
        Cancelled = 3 => "cancelled",
    }
}

impl JobStatus {
    /// Whether something may still be done.
    pub fn is_open(self) -> bool {
        self <= Self::Paused
    }
}

/// One piece of bulk work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it does to each of its items.
    pub kind: String,
    /// Its status.
    pub status: JobStatus,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last got on.
    pub updated_at: Timestamp,
    /// Filter, counts, how far it is.
    pub body: Json,
}

/// What a job did to one of its items. The numbers are stored: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum JobResult {
    /// What the job is for.
    Done = 0,
    /// Nothing, because there was no need any more.
    Skipped = 1,
    /// Nothing, because it could not.
    Failed = 2,
}

impl JobResult {
    /// All of them, by number.
    pub const ALL: [Self; 3] = [Self::Done, Self::Skipped, Self::Failed];
}

/// One item of a job, once it was dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobItem {
    /// Whose.
    pub job: JobId,
    /// From 1, in the order of work.
    pub number: u64,
    /// The action it is about.
    pub action: ActionId,
    /// What became of it.
    pub result: JobResult,
    /// Why, unless it was done.
    pub detail: Option<String>,
}
