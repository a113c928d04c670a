//! The one writer of a file.
//!
//! Flow of a commit: take the write lock, check the fences, apply the mutations in order, commit, flush. A failure
//! anywhere rolls back and leaves the connection usable; only a failed flush leaves open what is on disk, and is
//! reported as such. Between commits the write-ahead log is copied back into the file once it has grown enough.

use std::sync::Arc;

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB, TransactionBehavior};
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::integrity::audit::Head;
use sprag_core::time::Timestamp;

use super::backup::Copying;
use super::condition::Shared;
use super::errors::classify;
use super::history::HistoryEnds;
use super::keeper::{MergeOnDrop, OpenFile};
use super::mark::{self, FileMark};
use super::{
    actions, apply, audit, catalog, executions, facts, idempotency, inbox, jobs, lives, machines, plans, receipts,
    retention, search, shards, timers,
};
use crate::page::{Page, Paged};
use crate::records::{
    Action, CatalogVersion, Fact, FactKind, Job, MachineVersion, Plan, ProcessRun, Scope, Timer, TimerKey,
};
use crate::traits::{
    Aged, CommitStore, DueAction, DuePlan, Error, Fence, LaneReads, Loaded, LoadedExecution, Mutation, OpenAction,
    PlanQuery, ReadyKey, ReadyRef, Search, ShardId, Wanted,
};

/// A log of this many pages (64 MiB) is copied back into the file, as far as readers allow. A page that changed often meanwhile
/// is copied once.
const CHECKPOINT_PAGES: u32 = 16_384;

/// A log of this many pages (256 MiB) waits for readers to move on, so that it starts again from its beginning.
const LOG_PAGES_MAX: u32 = 65_536;

/// The lane's connection. The lock goes with the last of writer and readers.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    condition: Arc<Shared>,
    restart_at: u32,
    /// The mark that the last commit left in the file.
    mark: FileMark,
    /// The mark that the next commit is to leave there.
    next_mark: Option<FileMark>,
    ends: HistoryEnds,
    copying: Arc<Copying>,
    _merge: MergeOnDrop,
}

impl Writer {
    /// The writer on a connection whose schema is up to date. A file that no other process can open yet has no keeper.
    pub(super) fn new(
        mut connection: Connection,
        file: Option<Arc<OpenFile>>,
        copying: Arc<Copying>,
    ) -> rusqlite::Result<Self> {
        let condition = file
            .as_ref()
            .map(|file| Arc::clone(&file.condition))
            .unwrap_or_default();
        let seen = Arc::clone(&condition);
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            seen.committed(pages);
            Ok(())
        }))?;
        Ok(Self {
            connection,
            condition,
            restart_at: LOG_PAGES_MAX,
            mark: FileMark::Whole,
            next_mark: None,
            ends: HistoryEnds::default(),
            copying,
            _merge: MergeOnDrop(file),
        })
    }

    /// Ends the writer, and gives the connection it had.
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Copies the log back once it is long. `SQLite` would do so by itself, but would keep a failed flush to itself too.
    fn checkpoint(&mut self) -> Result<(), Error> {
        let pages = self.condition.log_pages();
        if pages < CHECKPOINT_PAGES {
            return Ok(());
        }
        // What is copied must end with the mark that says that there is more, so the next commit writes it; see `mark`.
        if self.mark == FileMark::Whole {
            self.next_mark = Some(FileMark::NeedsLog);
            return Ok(());
        }
        self.next_mark = Some(FileMark::Whole);
        // A copy under way reads from the log for as long as it takes; the log grows meanwhile, and nothing waits.
        let restart = pages >= self.restart_at && !self.copying.is_under_way();
        let mode = if restart {
            CheckpointMode::RESTART
        } else {
            CheckpointMode::PASSIVE
        };
        let result = self.connection.wal_checkpoint_v2(Some(MAIN_DB), mode);
        // A reader that does not move on may hold up this commit, but not each that follows.
        self.restart_at = match (restart, &result) {
            (true, Err(_)) => pages.saturating_add(LOG_PAGES_MAX),
            (true, Ok(_)) => LOG_PAGES_MAX,
            (false, _) => self.restart_at,
        };
        match result.map_err(|problem| classify(&problem)) {
            // The commit is durable in the log whether the file had room for the copy or not; only a failed disk counts.
            Err(problem @ (Error::Disk { .. } | Error::Corrupt { .. })) => Err(problem),
            Ok(copied) => {
                self.condition.copied(copied);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        read(&self.connection).map_err(|problem| classify(&problem))
    }

    /// A file has one shard: all others are empty.
    fn read_shard<T: Default>(
        &self,
        shard: ShardId,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        if shard == shards::ONLY {
            self.read(read)
        } else {
            Ok(T::default())
        }
    }
}

impl CommitStore for Writer {
    fn check(&mut self) -> Result<(), Error> {
        self.condition.check()
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        self.condition.check()?;
        let mark = self.next_mark;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|problem| classify(&problem))?;
        let written = shards::check(&transaction, fences)
            .and_then(|()| apply::all(&transaction, &mut self.ends, mutations))
            .and_then(|()| put_mark(&transaction, mark))
            .and_then(|()| transaction.commit().map_err(|problem| classify(&problem)));
        if written.is_err() {
            self.ends.forget();
        }
        written?;
        if let Some(mark) = self.next_mark.take() {
            self.mark = mark;
        }
        self.checkpoint()?;
        // The file may have gone while this was written.
        self.condition.check()
    }

    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        shards::acquire(&self.connection, shard)
    }
}

impl LaneReads for Writer {
    fn load(&mut self, wanted: &Wanted) -> Result<Loaded, Error> {
        // One read transaction, so that the log's index is looked at once and not for every statement.
        let transaction = self.connection.transaction().map_err(|problem| classify(&problem))?;
        load(&transaction, wanted).map_err(|problem| classify(&problem))
    }

    fn machine_version(&mut self, machine: &str, version: u32) -> Result<Option<MachineVersion>, Error> {
        self.read(|connection| machines::get(connection, machine, version))
    }

    fn version_with_digest(&mut self, machine: &str, digest: &[u8; 32]) -> Result<Option<u32>, Error> {
        self.read(|connection| machines::with_digest(connection, machine, digest))
    }

    fn last_run(&mut self) -> Result<Option<ProcessRun>, Error> {
        self.read(lives::last)
    }

    fn ready(
        &mut self,
        shard: ShardId,
        queue: &str,
        page: &Page<ReadyKey>,
    ) -> Result<Paged<ReadyRef, ReadyKey>, Error> {
        self.read_shard(shard, |connection| actions::ready(connection, queue, page))
    }

    fn queues(&mut self, shard: ShardId) -> Result<Vec<String>, Error> {
        self.read_shard(shard, actions::queues)
    }

    fn due_timers(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, TimerKey)>,
    ) -> Result<Paged<Timer, (Timestamp, TimerKey)>, Error> {
        self.read_shard(shard, |connection| timers::due(connection, until, page))
    }

    fn due_actions(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, ActionId)>,
    ) -> Result<Paged<DueAction, (Timestamp, ActionId)>, Error> {
        self.read_shard(shard, |connection| actions::due(connection, until, page))
    }

    fn due_plans(
        &mut self,
        shard: ShardId,
        until: Timestamp,
        page: &Page<(Timestamp, WorkflowId)>,
    ) -> Result<Paged<DuePlan, (Timestamp, WorkflowId)>, Error> {
        self.read_shard(shard, |connection| plans::due(connection, until, page))
    }

    fn catalog(&mut self) -> Result<Vec<CatalogVersion>, Error> {
        self.read(catalog::all)
    }

    fn running(&mut self, shard: ShardId, page: &Page<ActionId>) -> Result<Paged<DueAction, ActionId>, Error> {
        self.read_shard(shard, |connection| actions::running(connection, page))
    }

    fn deferred(&mut self, shard: ShardId, page: &Page<ExecutionId>) -> Result<Paged<ExecutionId, ExecutionId>, Error> {
        self.read_shard(shard, |connection| inbox::deferred(connection, page))
    }

    fn facts(&mut self, kind: FactKind) -> Result<Vec<Fact>, Error> {
        self.read(|connection| facts::of(connection, kind))
    }

    fn open(
        &mut self,
        shard: ShardId,
        status: u8,
        page: &Page<OpenAction>,
    ) -> Result<Paged<OpenAction, OpenAction>, Error> {
        self.read_shard(shard, |connection| actions::open(connection, status, page))
    }

    fn aged(
        &mut self,
        shard: ShardId,
        before: Timestamp,
        page: &Page<ExecutionId>,
    ) -> Result<Paged<Aged, ExecutionId>, Error> {
        self.read_shard(shard, |connection| retention::aged(connection, before, page))
    }

    fn find_actions(&mut self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        self.read(|connection| search::actions(connection, search))
    }

    fn find_plans(&mut self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        self.read(|connection| plans::list(connection, query))
    }

    fn open_jobs(&mut self, shard: ShardId) -> Result<Vec<Job>, Error> {
        self.read_shard(shard, jobs::open)
    }

    fn job_beyond(&mut self, shard: ShardId, kept: usize) -> Result<Option<Job>, Error> {
        self.read_shard(shard, |connection| jobs::beyond(connection, kept))
    }

    fn audit_heads(&mut self) -> Result<Vec<Head>, Error> {
        self.read(audit::heads)
    }

    fn first_to_expire(&mut self, shard: ShardId, limit: usize) -> Result<Vec<(Timestamp, Scope)>, Error> {
        self.read_shard(shard, |connection| idempotency::first_to_expire(connection, limit))
    }
}

fn put_mark(connection: &Connection, mark: Option<FileMark>) -> Result<(), Error> {
    match mark {
        None => Ok(()),
        Some(mark) => mark::put(connection, mark).map_err(|problem| classify(&problem)),
    }
}

fn load(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Loaded> {
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
    let mut loaded = Loaded::default();
    for &id in executions {
        loaded.executions.extend(load_execution(connection, id)?);
    }
    for (machine, key) in keys {
        let holder = executions::holder(connection, machine, key)?;
        loaded
            .keys
            .extend(holder.map(|id| ((machine.clone(), key.clone()), id)));
    }
    for &id in actions {
        loaded.actions.extend(actions::get(connection, id)?);
    }
    for (execution, message) in receipts {
        loaded.receipts.extend(receipts::get(connection, *execution, message)?);
    }
    for machine in newest {
        let version = machines::newest(connection, machine)?;
        loaded.newest.extend(version.map(|version| (machine.clone(), version)));
    }
    for (machine, version) in versions {
        loaded.versions.extend(machines::get(connection, machine, *version)?);
    }
    for (machine, digest) in version_by_digest {
        let version = machines::with_digest(connection, machine, digest)?;
        loaded
            .version_by_digest
            .extend(version.map(|version| ((machine.clone(), *digest), version)));
    }
    for &scope in idempotency {
        loaded.idempotency.extend(idempotency::get(connection, scope)?);
    }
    for &id in plans {
        loaded.plans.extend(plans::get(connection, id)?);
    }
    for proposer in proposers {
        loaded.proposals.push(plans::proposals(connection, proposer)?);
    }
    Ok(loaded)
}

fn load_execution(connection: &Connection, id: ExecutionId) -> rusqlite::Result<Option<LoadedExecution>> {
    let Some(execution) = executions::get(connection, id)? else {
        return Ok(None);
    };
    Ok(Some(LoadedExecution {
        execution,
        actions: actions::open_of(connection, id)?,
        timers: timers::of(connection, id)?,
        inbox: inbox::of(connection, id)?,
    }))
}

#[cfg(test)]
mod tests;
