//! Readers: a few connections that see committed state and never wait for the writer.
//!
//! Reads by id and scans have connections of their own: a read by id never waits for a scan. Every question is one statement or one transaction, so what it answers is of one instant.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use sprag_core::filter::Condition;
use sprag_core::ids::{ActionId, ExecutionId, JobId, WorkflowId};
use sprag_core::integrity::audit::{Entry, Head};

use super::backup::{self, Copying};
use super::errors::classify;
use super::keeper::OpenFile;
use super::{
    actions, audit, catalog, counts, executions, facts, history, inbox, jobs, machines, plans, search, timers,
};
use crate::page::{Page, Paged, ReadKind};
use crate::pool::ReaderPool;
use crate::records::{
    Action, CatalogKind, CatalogVersion, Execution, ExecutionStatus, Fact, FactKind, HistoryEntry, Job, JobItem,
    MachineVersion, Plan, Timer,
};
use crate::traits::{
    ActionQuery, AuditKey, Counted, Error, ExecutionQuery, FileBytes, PlanQuery, QueuedCount, Reader, Readers, Search,
    ShardId, WaitingPlan,
};

/// Hands out the readers of a file. Clones share them.
#[derive(Clone, Debug)]
pub struct ReadPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pool: ReaderPool<Connection>,
    path: PathBuf,
    copying: Arc<Copying>,
    file: Arc<OpenFile>,
}

impl ReadPool {
    /// Readers of the file at `path`.
    pub(super) fn new(pool: ReaderPool<Connection>, path: PathBuf, file: Arc<OpenFile>, copying: Arc<Copying>) -> Self {
        Self {
            shared: Arc::new(Shared {
                pool,
                path,
                copying,
                file,
            }),
        }
    }

    /// A reader for reads by id; waits until one is free.
    pub fn get(&self) -> ReadConnection {
        self.of(ReadKind::Point)
    }

    fn of(&self, kind: ReadKind) -> ReadConnection {
        ReadConnection {
            connection: Some(self.shared.pool.take(kind)),
            kind,
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Readers for ReadPool {
    fn reader(&self, kind: ReadKind) -> Result<Box<dyn Reader + '_>, Error> {
        Ok(Box::new(self.of(kind)))
    }

    fn snapshot(&self, mark: &Fact) -> Result<File, Error> {
        let Shared {
            path, copying, file, ..
        } = &*self.shared;
        let copied = backup::snapshot(path, copying, mark)?;
        // The copy is made by name, and must be of this file.
        file.check()?;
        Ok(copied)
    }

    fn held_bytes(&self) -> u64 {
        self.shared.file.condition.held_bytes()
    }
}

/// A reader on loan; goes back when dropped.
#[derive(Debug)]
pub struct ReadConnection {
    /// Taken only by `drop`.
    connection: Option<Connection>,
    kind: ReadKind,
    shared: Arc<Shared>,
}

impl Drop for ReadConnection {
    fn drop(&mut self) {
        self.shared.pool.put(self.kind, self.connection.take());
    }
}

impl ReadConnection {
    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        match &self.connection {
            Some(connection) => read(connection).map_err(|problem| classify(&problem)),
            None => Err(Error::Failed {
                detail: "the reader was given back".to_owned(),
            }),
        }
    }
}

impl Reader for ReadConnection {
    fn machines(&self, page: &Page<String>) -> Result<Paged<MachineVersion, String>, Error> {
        self.read(|connection| machines::list(connection, page))
    }

    fn machine(&self, machine: &str, version: Option<u32>) -> Result<Option<MachineVersion>, Error> {
        self.read(|connection| match version {
            Some(version) => machines::get(connection, machine, version),
            None => machines::get_newest(connection, machine),
        })
    }

    fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, Error> {
        self.read(|connection| executions::get(connection, id))
    }

    fn execution_status(&self, id: ExecutionId) -> Result<Option<ExecutionStatus>, Error> {
        self.read(|connection| executions::status(connection, id))
    }

    fn execution_by_key(&self, machine: &str, key: &str) -> Result<Option<ExecutionId>, Error> {
        self.read(|connection| executions::holder(connection, machine, key))
    }

    fn executions(&self, query: &ExecutionQuery) -> Result<Paged<Execution, ExecutionId>, Error> {
        self.read(|connection| executions::list(connection, query))
    }

    fn history(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error> {
        self.read(|connection| history::page(connection, id, page))
    }

    fn timers(&self, id: ExecutionId) -> Result<Vec<Timer>, Error> {
        self.read(|connection| timers::of(connection, id))
    }

    fn inbox_length(&self, id: ExecutionId) -> Result<u64, Error> {
        self.read(|connection| inbox::length(connection, id))
    }

    fn action(&self, id: ActionId) -> Result<Option<Action>, Error> {
        self.read(|connection| actions::get(connection, id))
    }

    fn actions(&self, query: &ActionQuery) -> Result<Paged<Action, ActionId>, Error> {
        self.read(|connection| actions::list(connection, query))
    }

    fn fact(&self, kind: FactKind, key: &str) -> Result<Option<Fact>, Error> {
        self.read(|connection| facts::get(connection, kind, key))
    }

    fn find_executions(&self, search: &Search<ExecutionId>) -> Result<Paged<Execution, ExecutionId>, Error> {
        self.read(|connection| search::executions(connection, search))
    }

    fn find_actions(&self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        self.read(|connection| search::actions(connection, search))
    }

    fn count_actions(&self, condition: &Condition, scan: usize) -> Result<Counted, Error> {
        self.read(|connection| search::count_actions(connection, condition, scan))
    }

    fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        self.read(|connection| jobs::get(connection, id))
    }

    fn jobs(&self, page: &Page<JobId>) -> Result<Paged<Job, JobId>, Error> {
        self.read(|connection| jobs::list(connection, page))
    }

    fn job_items(&self, job: JobId, page: &Page<u64>) -> Result<Paged<JobItem, u64>, Error> {
        self.read(|connection| jobs::items(connection, job, page))
    }

    fn audit(&self, shard: Option<ShardId>, page: &Page<AuditKey>) -> Result<Paged<Entry, AuditKey>, Error> {
        self.read(|connection| match shard {
            Some(shard) => audit::chain(connection, shard, page),
            None => audit::list(connection, page),
        })
    }

    fn audit_heads(&self) -> Result<Vec<Head>, Error> {
        self.read(audit::heads)
    }

    fn catalog(&self, kind: CatalogKind, page: &Page<String>) -> Result<Paged<CatalogVersion, String>, Error> {
        self.read(|connection| catalog::list(connection, kind, page))
    }

    fn catalog_version(
        &self,
        kind: CatalogKind,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogVersion>, Error> {
        self.read(|connection| catalog::get(connection, kind, name, version))
    }

    fn plan(&self, id: WorkflowId) -> Result<Option<Plan>, Error> {
        self.read(|connection| plans::get(connection, id))
    }

    fn plans(&self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        self.read(|connection| plans::list(connection, query))
    }

    fn waiting_plans(&self, page: &Page<WaitingPlan>) -> Result<Paged<Plan, WaitingPlan>, Error> {
        self.read(|connection| plans::waiting(connection, page))
    }

    fn open_executions(&self) -> Result<Vec<(ExecutionStatus, u64)>, Error> {
        self.read(counts::open_executions)
    }

    fn queued_actions(&self) -> Result<Vec<QueuedCount>, Error> {
        self.read(counts::queued_actions)
    }

    fn dead_letters(&self) -> Result<u64, Error> {
        self.read(counts::dead_letters)
    }

    fn file_bytes(&self) -> Result<FileBytes, Error> {
        self.read(|connection| Ok(counts::file_bytes(connection)))
    }
}
