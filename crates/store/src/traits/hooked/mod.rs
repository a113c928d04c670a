//! A store with a hook: something that hears of every call before it is made and after, and may fail it or die.
//!
//! Failpoints, the simulator's faults and the failing stores of tests are hooks. None of them forwards calls: that is done
//! here, once. Commits that are sent ahead go through the hook too, in the order in which they are taken and told of.

use std::task::{Context, Poll, ready};

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
use crate::traits::{CommitStore, LaneReads};

/// A call that reads, or takes a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadCall {
    /// [`CommitStore::acquire`], which reads what the epoch was.
    Acquire,
    /// [`LaneReads::load`].
    Load,
    /// [`LaneReads::machine_version`].
    MachineVersion,
    /// [`LaneReads::version_with_digest`].
    VersionWithDigest,
    /// [`LaneReads::last_run`].
    LastRun,
    /// [`LaneReads::ready`].
    Ready,
    /// [`LaneReads::queues`].
    Queues,
    /// [`LaneReads::due_timers`].
    DueTimers,
    /// [`LaneReads::due_actions`].
    DueActions,
    /// [`LaneReads::due_plans`].
    DuePlans,
    /// [`LaneReads::catalog`].
    Catalog,
    /// [`LaneReads::running`].
    Running,
    /// [`LaneReads::deferred`].
    Deferred,
    /// [`LaneReads::facts`].
    Facts,
    /// [`LaneReads::open`].
    Open,
    /// [`LaneReads::aged`].
    Aged,
    /// [`LaneReads::find_actions`].
    FindActions,
    /// [`LaneReads::find_plans`].
    FindPlans,
    /// [`LaneReads::open_jobs`].
    OpenJobs,
    /// [`LaneReads::job_beyond`].
    JobBeyond,
    /// [`LaneReads::audit_heads`].
    AuditHeads,
    /// [`LaneReads::first_to_expire`].
    FirstToExpire,
}

/// What a read found, where a hook may want to show something else.
#[derive(Debug)]
pub enum Answered<'a> {
    /// A fence.
    Acquired(&'a Fence),
    /// What was loaded.
    Loaded(&'a mut Loaded),
    /// A part of a queue.
    Ready(&'a mut Vec<ReadyRef>),
    /// Actions by due time, of a shard.
    DueActions(ShardId, &'a mut Vec<DueAction>),
    /// Anything else.
    Other,
}

/// Hears of the calls to a store.
pub trait StoreHook: Send {
    /// Before a call that reads. An error is its answer, and the store is not asked.
    fn read(&mut self, call: ReadCall) -> Result<(), Error> {
        let _ = call;
        Ok(())
    }

    /// After a call that read something.
    fn answered(&mut self, call: ReadCall, answered: Answered<'_>) {
        let _ = (call, answered);
    }

    /// Before a commit, which may be changed. An error is its result, and nothing is written.
    fn before(&mut self, commit: &mut Commit) -> Result<(), Error> {
        let _ = commit;
        Ok(())
    }

    /// After a commit that was made, in the order in which they were made. What it returns goes to the caller.
    fn after(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        result
    }

    /// A commit that was taken behind one that the hook calls [`Error::Away`]. The caller learns as little of it: the hook
    /// may write it or not.
    fn behind(&mut self, commit: Commit) {
        drop(commit);
    }
}

/// A store behind a hook.
#[derive(Debug)]
pub struct Hooked<S, H> {
    store: S,
    hook: H,
}

impl<S, H> Hooked<S, H> {
    /// The store behind the hook.
    pub fn new(store: S, hook: H) -> Self {
        Self { store, hook }
    }
}

impl<S, H: StoreHook> Hooked<S, H> {
    /// Makes a call whose answer the hook is still to see.
    fn call<T>(&mut self, call: ReadCall, ask: impl FnOnce(&mut S) -> Result<T, Error>) -> Result<T, Error> {
        self.hook.read(call)?;
        ask(&mut self.store)
    }

    /// Makes a call whose answer no hook wants to see.
    fn ask<T>(&mut self, call: ReadCall, ask: impl FnOnce(&mut S) -> Result<T, Error>) -> Result<T, Error> {
        let found = self.call(call, ask)?;
        self.hook.answered(call, Answered::Other);
        Ok(found)
    }
}

impl<S: CommitStore, H: StoreHook> CommitStore for Hooked<S, H> {
    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn check(&mut self) -> Result<(), Error> {
        self.store.check()
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        let fence = self.call(ReadCall::Acquire, |store| store.acquire(shard))?;
        self.hook.answered(ReadCall::Acquire, Answered::Acquired(&fence));
        Ok(fence)
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        let mut commit = Commit {
            fences: fences.to_vec(),
            mutations: mutations.to_vec(),
        };
        self.hook.before(&mut commit)?;
        let result = self.store.commit(&commit.fences, &commit.mutations);
        self.hook.after(result)
    }

    fn commit_all(&mut self, queue: &mut dyn Queue) {
        self.store.commit_all(&mut HookedQueue {
            queue,
            hook: &mut self.hook,
            under_way: 0,
            refused: None,
        });
    }
}

/// Commits on their way to a store, past its hook.
struct HookedQueue<'a, H> {
    queue: &'a mut dyn Queue,
    hook: &'a mut H,
    /// How many the store has taken and not told of.
    under_way: usize,
    /// What the hook says of the next, told once all before it are. None comes behind it until then: it was decided on it.
    refused: Option<Error>,
}

impl<H: StoreHook> Queue for HookedQueue<'_, H> {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Commit>> {
        while self.refused.is_none() {
            let Some(mut commit) = ready!(self.queue.poll_next(context)) else {
                return Poll::Ready(None);
            };
            match self.hook.before(&mut commit) {
                Ok(()) => {
                    self.under_way += 1;
                    return Poll::Ready(Some(commit));
                }
                Err(error) if self.under_way == 0 => self.give(Err(error)),
                Err(error) => self.refused = Some(error),
            }
        }
        Poll::Pending
    }

    fn tell(&mut self, result: Result<(), Error>) {
        self.under_way = self.under_way.saturating_sub(1);
        if is_away(&result) {
            let result = self.hook.after(result);
            self.queue.tell(result);
        } else {
            let result = self.hook.after(result);
            self.give(result);
        }
        if self.under_way == 0
            && let Some(error) = self.refused.take()
        {
            self.give(Err(error));
        }
    }
}

impl<H: StoreHook> HookedQueue<'_, H> {
    /// Passes on what became of a commit. Where the hook lost the answer, that to the next is lost too, which was sent
    /// before that showed.
    fn give(&mut self, result: Result<(), Error>) {
        let behind = if is_away(&result) && self.under_way == 0 {
            self.queue.next()
        } else {
            None
        };
        self.queue.tell(result);
        if let Some(commit) = behind {
            self.hook.behind(commit);
            self.queue.tell(Err(Error::Away {
                detail: "so is the commit before".to_owned(),
            }));
        }
    }
}

fn is_away(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::Away { .. }))
}

impl<S: LaneReads, H: StoreHook> LaneReads for Hooked<S, H> {
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        let mut loaded = self.call(ReadCall::Load, |store| store.load(wanted))?;
        self.hook.answered(ReadCall::Load, Answered::Loaded(&mut loaded));
        Ok(loaded)
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.ask(ReadCall::MachineVersion, |store| {
            store.machine_version(machine, version)
        })
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        self.ask(ReadCall::VersionWithDigest, |store| {
            store.version_with_digest(machine, digest)
        })
    }

    fn last_run(&mut self) -> Result<Option<ProcessRun>, Error> {
        self.ask(ReadCall::LastRun, LaneReads::last_run)
    }

    fn ready(
        &mut self,
        shard: ShardId,
        queue: &str,
        page: &Page<ReadyKey>,
    ) -> Result<Paged<ReadyRef, ReadyKey>, Error> {
        let mut found = self.call(ReadCall::Ready, |store| store.ready(shard, queue, page))?;
        self.hook.answered(ReadCall::Ready, Answered::Ready(&mut found.rows));
        Ok(found)
    }

    fn queues(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        self.ask(ReadCall::Queues, |store| store.queues(shard))
    }

    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Paged<Timer, (Timestamp, TimerKey)>, Error> {
        self.ask(ReadCall::DueTimers, |store| store.due_timers(shard, until, page))
    }

    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error> {
        let mut found = self.call(ReadCall::DueActions, |store| store.due_actions(shard, until, page))?;
        self.hook
            .answered(ReadCall::DueActions, Answered::DueActions(shard, &mut found.rows));
        Ok(found)
    }

    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error> {
        self.ask(ReadCall::DuePlans, |store| store.due_plans(shard, until, page))
    }

    fn catalog(&mut self) -> Result<Vec<CatalogVersion>, Error> {
        self.ask(ReadCall::Catalog, LaneReads::catalog)
    }

    fn running(&mut self, shard: ShardId, page: &Page<ActionId>) -> Result<Paged<DueAction, ActionId>, Error> {
        self.ask(ReadCall::Running, |store| store.running(shard, page))
    }

    fn deferred(&mut self, shard: ShardId, page: &Page<ExecutionId>) -> Result<Paged<ExecutionId, ExecutionId>, Error> {
        self.ask(ReadCall::Deferred, |store| store.deferred(shard, page))
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        self.ask(ReadCall::Facts, |store| store.facts(kind))
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        page: &Page<OpenAction>,
    ) -> Result<Paged<OpenAction, OpenAction>, Error> {
        self.ask(ReadCall::Open, |store| store.open(shard, status, page))
    }

    fn aged(
        &mut self,
        shard: ShardId,
        before: Timestamp,
        page: &Page<ExecutionId>,
    ) -> Result<Paged<Aged, ExecutionId>, Error> {
        self.ask(ReadCall::Aged, |store| store.aged(shard, before, page))
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        self.ask(ReadCall::FindActions, |store| LaneReads::find_actions(store, search))
    }

    fn find_plans(&mut self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        self.ask(ReadCall::FindPlans, |store| store.find_plans(query))
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        self.ask(ReadCall::OpenJobs, |store| store.open_jobs(shard))
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        self.ask(ReadCall::JobBeyond, |store| store.job_beyond(shard, kept))
    }

    fn audit_heads(&mut self) -> Result<Vec<Head>, Error> {
        self.ask(ReadCall::AuditHeads, LaneReads::audit_heads)
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        self.ask(ReadCall::FirstToExpire, |store| store.first_to_expire(shard, limit))
    }
}

#[cfg(test)]
mod tests;
