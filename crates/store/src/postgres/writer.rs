//! The writer of a lane.
//!
//! Flow of a commit: everything in one flush, the fences first. A failure anywhere writes nothing. A connection that is lost
//! meanwhile leaves open whether it landed: then the writer connects anew, reads its mark back, and commits once more if it
//! must; only when the database stays away is the caller told so. Of many commits, the next is sent ahead (see `ahead.rs`).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::integrity::audit::Head;
use sprag_core::time::Timestamp;

use super::ahead::{Ahead, Left, commit_once};
use super::lanes::CommitMark;
use super::link::Link;
use super::session::Session;
use super::{
    actions, audit, catalog, control, executions, idempotency, inbox, jobs, machines, plans, receipts, retention,
    search, shards, timers,
};
use crate::page::{Page, Paged};
use crate::records::{
    Action, CatalogVersion, Fact, FactKind, Job, MachineVersion, Plan, ProcessRun, Scope, Timer, TimerKey,
};
use crate::traits::{
    Aged, Commit, CommitStore, DueAction, DuePlan, Error, Fence, LaneReads, Loaded, LoadedExecution, Mutation,
    OpenAction, PlanQuery, Queue, ReadyKey, ReadyRef, Search, ShardId, Wanted,
};

/// How long a commit tries to find out whether it landed. Callers wait meanwhile; after this they get an error.
const SETTLE_MAX: Duration = Duration::from_secs(4);

/// So many mutations are a commit with a single caller waiting: more come together, and leave the time to others.
const FEW: usize = 6;

/// How long the answer to such a commit is looked for before the lane sleeps: as long as it takes where the database is near.
const PATIENCE: Duration = Duration::from_micros(500);

/// A lane's way to the database.
pub struct Writer {
    link: Link,
    shards: u32,
}

impl Writer {
    /// The writer on a link, to a database with so many shards.
    pub(super) fn new(link: Link, shards: u32) -> Self {
        Self { link, shards }
    }

    /// Commits on the connection at hand.
    fn try_commit(&mut self, fences: &[Fence], mutations: &[Mutation], mark: CommitMark) -> Result<(), Error> {
        let shards = self.shards;
        let commit = async |session: &Session| commit_once(session, fences, mutations, mark, shards, || {}).await;
        let patience = if mutations.len() <= FEW {
            PATIENCE
        } else {
            Duration::ZERO
        };
        self.link.ask_and_look(&commit, patience)?;
        self.link.landed(mark);
        Ok(())
    }

    /// Finds out whether a commit landed whose connection was lost, and commits again if it did not.
    fn settle(&mut self, fences: &[Fence], mutations: &[Mutation], mut mark: CommitMark) -> Result<(), Error> {
        let until = self.link.elapsed() + SETTLE_MAX;
        loop {
            let result = self.link.connect().and_then(|()| {
                let newest = self.link.mark()?;
                // One that was sent ahead may have landed after it.
                if newest.number >= mark.number {
                    return Ok(());
                }
                if newest.number + 1 < mark.number {
                    // What this was decided on is gone.
                    return Err(Error::Failed {
                        detail: "the database lost commits that it had confirmed".to_owned(),
                    });
                }
                mark = newest.next();
                self.try_commit(fences, mutations, mark)
            });
            match result {
                Err(Error::Away { .. }) if self.link.elapsed() < until => self.link.rest(),
                result => return result,
            }
        }
    }

    /// Commits what waits for as long as there is a connection. Returns those whose result is unknown.
    fn send_ahead(&mut self, first: Commit, queue: &mut dyn Queue) -> Result<Vec<(Arc<Commit>, CommitMark)>, Error> {
        self.link.connect()?;
        let (newest, shards) = (self.link.mark()?, self.shards);
        let ahead = |session| Ahead::new(session, shards, newest, queue).run(first);
        let Left { newest, unknown } = self.link.run(ahead)?;
        self.link.landed(newest);
        self.link.let_go(!unknown.is_empty());
        Ok(unknown)
    }

    /// Finds out of each whether it landed. What follows one that did not, or whose result is unknown, is not committed again.
    fn settle_all(&mut self, unknown: Vec<(Arc<Commit>, CommitMark)>, queue: &mut dyn Queue) {
        let mut goes_on = true;
        for (commit, mark) in unknown {
            let result = if goes_on {
                self.settle(&commit.fences, &commit.mutations, mark)
            } else {
                Err(Error::Away {
                    detail: "so was the commit before".to_owned(),
                })
            };
            goes_on = result.is_ok();
            queue.tell(result);
        }
    }

    /// Asks about one shard. One that cannot be is empty.
    fn ask_shard<T: Default>(
        &mut self,
        shard: ShardId,
        question: &impl AsyncFn(&Session, i16) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match i16::try_from(shard.0) {
            Ok(shard) => self.link.ask(&async |session| question(session, shard).await),
            Err(_) => Ok(T::default()),
        }
    }
}

impl CommitStore for Writer {
    fn is_shared(&self) -> bool {
        true
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        self.link.connect()?;
        let mark = self.link.mark()?.next();
        match self.try_commit(fences, mutations, mark) {
            Err(Error::Away { .. }) => self.settle(fences, mutations, mark),
            result => result,
        }
    }

    fn commit_all(&mut self, queue: &mut dyn Queue) {
        while let Some(first) = queue.next() {
            match self.send_ahead(first, queue) {
                Ok(unknown) => self.settle_all(unknown, queue),
                Err(error) => queue.tell(Err(error)),
            }
        }
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        self.link.ask(&async |session| shards::acquire(session, shard).await)
    }
}

impl LaneReads for Writer {
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        let shards = self.shards;
        self.link
            .ask(&async |session| Box::pin(load(session, wanted, shards)).await)
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.link
            .ask(&async |session| machines::get(session, machine, version).await)
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        self.link
            .ask(&async |session| machines::with_digest(session, machine, digest).await)
    }

    fn last_run(&mut self) -> Result<Option<ProcessRun>, Error> {
        self.link.ask(&async |session| control::last_run(session).await)
    }

    fn ready(
        &mut self,
        shard: ShardId,
        queue: &str,
        page: &Page<ReadyKey>,
    ) -> Result<Paged<ReadyRef, ReadyKey>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            actions::ready(session, shard, queue, page).await
        })
    }

    fn queues(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        self.ask_shard(shard, &async |session, shard| actions::queues(session, shard).await)
    }

    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Paged<Timer, (Timestamp, TimerKey)>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            timers::due(session, shard, until, page).await
        })
    }

    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            actions::due(session, shard, until, page).await
        })
    }

    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            plans::due(session, shard, until, page).await
        })
    }

    fn catalog(&mut self) -> Result<Vec<CatalogVersion>, Error> {
        self.link.ask(&async |session| catalog::all(session).await)
    }

    fn running(&mut self, shard: ShardId, page: &Page<ActionId>) -> Result<Paged<DueAction, ActionId>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            actions::running(session, shard, page).await
        })
    }

    fn deferred(&mut self, shard: ShardId, page: &Page<ExecutionId>) -> Result<Paged<ExecutionId, ExecutionId>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            inbox::deferred(session, shard, page).await
        })
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        self.link.ask(&async |session| control::facts(session, kind).await)
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        page: &Page<OpenAction>,
    ) -> Result<Paged<OpenAction, OpenAction>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            actions::open(session, shard, status, page).await
        })
    }

    fn aged(
        &mut self,
        shard: ShardId,
        before: Timestamp,
        page: &Page<ExecutionId>,
    ) -> Result<Paged<Aged, ExecutionId>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            retention::aged(session, shard, before, page).await
        })
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        self.link
            .ask(&async |session| search::find_actions(session, search).await)
    }

    fn find_plans(&mut self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        self.link.ask(&async |session| plans::newest(session, query).await)
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        if shard == shards::CONTROL {
            self.link.ask(&async |session| jobs::open(session).await)
        } else {
            Ok(Vec::new())
        }
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        if shard == shards::CONTROL {
            self.link.ask(&async |session| jobs::beyond(session, kept).await)
        } else {
            Ok(None)
        }
    }

    fn audit_heads(&mut self) -> Result<Vec<Head>, Error> {
        self.link.ask(&async |session| audit::heads(session).await)
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        self.ask_shard(shard, &async |session, shard| {
            idempotency::first_to_expire(session, shard, limit).await
        })
    }
}

/// Reads all that is wanted, each kind by one statement, none of which waits for another's answer. What is not wanted is
/// not asked for.
async fn load(session: &Session, wanted: &Wanted, shards: u32) -> Result<Loaded, Error> {
    let Wanted {
        executions,
        keys,
        actions,
        receipts,
        newest,
        versions,
        version_by_digest,
        idempotency,
        plans,
        proposers,
    } = wanted;
    let decided = async {
        tokio::try_join!(
            some(plans, async |ids| plans::get(session, ids).await),
            some(proposers, async |proposers| plans::proposals(session, proposers).await),
        )
    };
    let (executions, keys, actions, receipts, newest, versions, version_by_digest, idempotency, decided) = tokio::try_join!(
        load_executions(session, executions, shards),
        some(keys, async |keys| executions::holders(session, keys).await),
        some(actions, async |ids| actions::get(session, ids).await),
        some(receipts, async |keys| receipts::get(session, keys).await),
        some(newest, async |machines| machines::newest(session, machines).await),
        some(versions, async |wanted| machines::versions(session, wanted).await),
        some(version_by_digest, async |wanted| machines::by_digest(session, wanted)
            .await),
        some(idempotency, async |scopes| idempotency::get(session, scopes).await),
        decided,
    )?;
    let (plans, proposals) = decided;
    Ok(Loaded {
        executions,
        keys,
        actions,
        receipts,
        newest,
        versions,
        version_by_digest,
        idempotency,
        plans,
        proposals,
    })
}

/// Asks for something, unless nothing is wanted.
async fn some<K, T>(wanted: &[K], ask: impl AsyncFn(&[K]) -> Result<Vec<T>, Error>) -> Result<Vec<T>, Error> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    ask(wanted).await
}

async fn load_executions(session: &Session, ids: &[ExecutionId], shards: u32) -> Result<Vec<LoadedExecution>, Error> {
    let (executions, actions, timers, inbox) = tokio::try_join!(
        some(ids, async |ids| executions::get(session, ids).await),
        some(ids, async |ids| actions::open_of(session, ids, shards).await),
        some(ids, async |ids| timers::of(session, ids).await),
        some(ids, async |ids| inbox::of(session, ids).await),
    )?;
    let mut actions = by(actions, |action| action.execution);
    let mut timers = by(timers, |timer| timer.key.execution);
    let mut inbox = by(inbox, |entry| entry.execution);
    let loaded = executions.into_iter().map(|execution| {
        let id = execution.id;
        LoadedExecution {
            execution,
            actions: actions.remove(&id).unwrap_or_default(),
            timers: timers.remove(&id).unwrap_or_default(),
            inbox: inbox.remove(&id).unwrap_or_default(),
        }
    });
    Ok(loaded.collect())
}

/// Rows by what they belong to, each in the order in which they came.
fn by<T, K: Eq + Hash>(rows: Vec<T>, key: impl Fn(&T) -> K) -> HashMap<K, Vec<T>> {
    let mut found: HashMap<K, Vec<T>> = HashMap::new();
    for row in rows {
        found.entry(key(&row)).or_default().push(row);
    }
    found
}
