//! What a lane asks of a store: commits on one side, reads on the other.
//!
//! Blocking: a lane has a thread of its own.

use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::integrity::audit::Head;
use sprag_core::time::Timestamp;

use crate::page::{Page, Paged};
use crate::records::{
    Action, CatalogVersion, Fact, FactKind, Job, MachineVersion, Plan, ProcessRun, Scope, Timer, TimerKey,
};
use crate::traits::{
    Aged, Commit, DueAction, DuePlan, Error, Fence, Loaded, Mutation, OpenAction, PlanQuery, Queue, ReadyKey, ReadyRef,
    Search, ShardId, Wanted,
};

/// Writes what a lane decided.
pub trait CommitStore: Send {
    /// Whether other processes write to the same store, so that what was read may be old a moment later.
    fn is_shared(&self) -> bool {
        false
    }

    /// Fails if nothing may be acknowledged any more, where there is nothing to commit. Costs nothing.
    fn check(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Takes ownership of `shard` for this process: raises its epoch and returns the fence.
    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error>;

    /// Writes all mutations or none, durably, if every fence holds.
    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error>;

    /// Commits what waits, in order, and tells what became of each, until none waits. A store may take one before it knows
    /// of the one before; then it writes it only if that was written, and [`Error::Away`] of one leaves open what became of
    /// those that were taken behind it.
    fn commit_all(&mut self, queue: &mut dyn Queue) {
        while let Some(Commit { fences, mutations }) = queue.next() {
            queue.tell(self.commit(&fences, &mutations));
        }
    }
}

/// Reads what a lane decides on, as of the last commit.
pub trait LaneReads {
    /// Reads what a batch needs. A text that cannot be stored is not found.
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error>;

    /// Reads one machine version.
    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error>;

    /// The highest version of a machine that has this digest.
    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error>;

    /// The newest life of a process on this store, and the latest instant any record bears.
    fn last_run(&mut self) -> Result<Option<ProcessRun>, Error>;

    /// Queued actions of a queue in the order they are served: priority descending, due, id.
    fn ready(&mut self, shard: ShardId, queue: &str, page: &Page<ReadyKey>)
    -> Result<Paged<ReadyRef, ReadyKey>, Error>;

    /// The queues that hold queued actions.
    fn queues(&mut self, shard: ShardId) -> Result<Vec<String>, Error>;

    /// Timers due up to and including `until`, earliest first.
    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Paged<Timer, (Timestamp, TimerKey)>, Error>;

    /// Scheduled and retrying actions due up to and including `until`, earliest first.
    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error>;

    /// Plans that expire up to and including `until` unless somebody decides, earliest first.
    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error>;

    /// The newest versions of everything in the catalog, by kind and name.
    fn catalog(&mut self) -> Result<Vec<CatalogVersion>, Error>;

    /// Actions whose attempt was under way, by id.
    fn running(&mut self, shard: ShardId, page: &Page<ActionId>) -> Result<Paged<DueAction, ActionId>, Error>;

    /// Executions with input in their inbox although they are running: input deferred by a bound.
    fn deferred(&mut self, shard: ShardId, page: &Page<ExecutionId>) -> Result<Paged<ExecutionId, ExecutionId>, Error>;

    /// All facts of a kind, by key. They live in the control shard and are few.
    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error>;

    /// Actions in an open status, by execution and id.
    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        page: &Page<OpenAction>,
    ) -> Result<Paged<OpenAction, OpenAction>, Error>;

    /// Executions that started up to and including `before`, oldest first, each with whether it may be deleted: it
    /// closed up to then too, and none of its actions is open or dead.
    fn aged(
        &mut self,
        shard: ShardId,
        before: Timestamp,
        page: &Page<ExecutionId>,
    ) -> Result<Paged<Aged, ExecutionId>, Error>;

    /// Actions that meet a condition, newest first, as of the last commit.
    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error>;

    /// Plans of every shard, newest first, as of the last commit.
    fn find_plans(&mut self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error>;

    /// The jobs that are not over, oldest first.
    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error>;

    /// The newest job that is over and has at least `kept` newer ones that are over too.
    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error>;

    /// The newest entry of every chain of the audit that has one, by shard.
    fn audit_heads(&mut self) -> Result<Vec<Head>, Error>;

    /// The answers to keys that expire first, earliest first.
    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error>;
}

/// A store as a lane has it: one that can do both.
pub trait LaneStore: CommitStore + LaneReads {}

impl<S: CommitStore + LaneReads> LaneStore for S {}
