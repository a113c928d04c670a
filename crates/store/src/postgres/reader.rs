//! Readers: a few connections that see committed state and never wait for a writer.
//!
//! Reads by id and scans have connections of their own: a read by id never waits for a scan.

use std::cell::RefCell;
use std::fs::File;
use std::sync::Arc;

use sprag_core::filter::Condition;
use sprag_core::ids::{ActionId, ExecutionId, JobId, WorkflowId};
use sprag_core::integrity::audit::{Entry, Head};

use super::link::{Link, Role, Target};
use super::session::Session;
use super::{
    actions, audit, catalog, control, counts, executions, history, inbox, jobs, machines, plans, search, timers,
};
use crate::page::{Page, PageLimit, Paged, ReadKind};
use crate::pool;
use crate::records::{
    Action, CatalogKind, CatalogVersion, Execution, ExecutionStatus, Fact, FactKind, HistoryEntry, Job, JobItem,
    MachineVersion, Plan, Timer,
};
use crate::traits::{
    ActionQuery, AuditKey, Counted, Error, ExecutionQuery, FileBytes, OpenWork, PlanQuery, QueuedCount, Reader,
    Readers, Search, ShardId, WaitingPlan,
};

/// Hands out the readers of a database. Clones share them. Each connects when it is first asked.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    pool: pool::ReaderPool<Link>,
}

impl Pool {
    pub(super) fn new(target: &Arc<Target>) -> Result<Self, Error> {
        let pool = pool::ReaderPool::new(|kind| Link::new(Arc::clone(target), Role::Reader(kind)))?;
        Ok(Self {
            shared: Arc::new(Shared { pool }),
        })
    }

    /// A reader for reads by id; waits until one is free.
    pub fn get(&self) -> PooledReader {
        self.of(ReadKind::Point)
    }

    fn of(&self, kind: ReadKind) -> PooledReader {
        PooledReader {
            link: RefCell::new(Some(self.shared.pool.take(kind))),
            kind,
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Readers for Pool {
    fn reader(&self, kind: ReadKind) -> Result<Box<dyn Reader + '_>, Error> {
        Ok(Box::new(self.of(kind)))
    }

    fn snapshot(&self, _: &Fact) -> Result<File, Error> {
        Err(Error::Unsupported {
            remedy:
                "this server stores its data in PostgreSQL, so there is no file to back up; use `pg_dump`, or a base \
                 backup with its log"
                    .to_owned(),
        })
    }
}

/// A reader on loan; goes back when dropped.
pub struct PooledReader {
    /// Taken only by `drop`.
    link: RefCell<Option<Link>>,
    kind: ReadKind,
    shared: Arc<Shared>,
}

impl Drop for PooledReader {
    fn drop(&mut self) {
        self.shared.pool.put(self.kind, self.link.take());
    }
}

impl PooledReader {
    pub(super) fn ask<T>(&self, question: &impl AsyncFn(&Session) -> Result<T, Error>) -> Result<T, Error> {
        match self.link.borrow_mut().as_mut() {
            Some(link) => link.ask(question),
            None => Err(Error::Failed {
                detail: "the reader was given back".to_owned(),
            }),
        }
    }
}

impl Reader for PooledReader {
    fn machines(&self, page: &Page<String>) -> Result<Paged<MachineVersion, String>, Error> {
        self.ask(&async |session| machines::page(session, page).await)
    }

    fn machine(&self, machine: &str, version: Option<u32>) -> Result<Option<MachineVersion>, Error> {
        self.ask(&async |session| match version {
            Some(version) => machines::get(session, machine, version).await,
            None => machines::get_newest(session, machine).await,
        })
    }

    fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, Error> {
        let found = self.ask(&async |session| executions::get(session, &[id]).await)?;
        Ok(found.into_iter().next())
    }

    fn execution_status(&self, id: ExecutionId) -> Result<Option<ExecutionStatus>, Error> {
        self.ask(&async |session| executions::status(session, id).await)
    }

    fn execution_by_key(&self, machine: &str, key: &str) -> Result<Option<ExecutionId>, Error> {
        let wanted = [(machine.to_owned(), key.to_owned())];
        let found = self.ask(&async |session| executions::holders(session, &wanted).await)?;
        Ok(found.into_iter().map(|(_, id)| id).next())
    }

    fn executions(&self, query: &ExecutionQuery) -> Result<Paged<Execution, ExecutionId>, Error> {
        self.ask(&async |session| executions::newest(session, query).await)
    }

    fn history(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error> {
        self.ask(&async |session| history::page(session, id, page).await)
    }

    fn timers(&self, id: ExecutionId) -> Result<Vec<Timer>, Error> {
        self.ask(&async |session| timers::of(session, &[id]).await)
    }

    fn inbox_length(&self, id: ExecutionId) -> Result<u64, Error> {
        self.ask(&async |session| inbox::length(session, id).await)
    }

    fn action(&self, id: ActionId) -> Result<Option<Action>, Error> {
        let found = self.ask(&async |session| actions::get(session, &[id]).await)?;
        Ok(found.into_iter().next())
    }

    fn actions(&self, query: &ActionQuery) -> Result<Paged<Action, ActionId>, Error> {
        self.ask(&async |session| actions::newest(session, query).await)
    }

    fn open_work(&self, executions: &[ExecutionId], limit: PageLimit) -> Result<OpenWork, Error> {
        self.ask(&async |session| {
            let (timers, actions) = tokio::try_join!(
                timers::of(session, executions),
                actions::open_work(session, executions, limit)
            )?;
            Ok(OpenWork { timers, actions })
        })
    }

    // One round trip: the execution is read beside its work, which is empty if it is closed.
    fn execution_with_work(&self, id: ExecutionId, limit: PageLimit) -> Result<Option<(Execution, OpenWork)>, Error> {
        let ids = [id];
        self.ask(&async |session| {
            let (found, timers, actions) = tokio::try_join!(
                executions::get(session, &ids),
                timers::of(session, &ids),
                actions::open_work(session, &ids, limit)
            )?;
            Ok(found.into_iter().next().map(|row| (row, OpenWork { timers, actions })))
        })
    }

    fn fact(&self, kind: FactKind, key: &str) -> Result<Option<Fact>, Error> {
        self.ask(&async |session| control::fact(session, kind, key).await)
    }

    fn find_executions(&self, search: &Search<ExecutionId>) -> Result<Paged<Execution, ExecutionId>, Error> {
        self.ask(&async |session| search::find_executions(session, search).await)
    }

    fn find_actions(&self, search: &Search<ActionId>) -> Result<Paged<Action, ActionId>, Error> {
        self.ask(&async |session| search::find_actions(session, search).await)
    }

    fn count_actions(&self, condition: &Condition, scan: usize) -> Result<Counted, Error> {
        self.ask(&async |session| search::count_actions(session, condition, scan).await)
    }

    fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        self.ask(&async |session| jobs::get(session, id).await)
    }

    fn jobs(&self, page: &Page<JobId>) -> Result<Paged<Job, JobId>, Error> {
        self.ask(&async |session| jobs::newest(session, page).await)
    }

    fn job_items(&self, job: JobId, page: &Page<u64>) -> Result<Paged<JobItem, u64>, Error> {
        self.ask(&async |session| jobs::items(session, job, page).await)
    }

    fn audit(&self, shard: Option<ShardId>, page: &Page<AuditKey>) -> Result<Paged<Entry, AuditKey>, Error> {
        self.ask(&async |session| match shard {
            Some(shard) => audit::chain(session, shard, page).await,
            None => audit::list(session, page).await,
        })
    }

    fn audit_heads(&self) -> Result<Vec<Head>, Error> {
        self.ask(&async |session| audit::heads(session).await)
    }

    fn catalog(&self, kind: CatalogKind, page: &Page<String>) -> Result<Paged<CatalogVersion, String>, Error> {
        self.ask(&async |session| catalog::page(session, kind, page).await)
    }

    fn catalog_version(
        &self,
        kind: CatalogKind,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogVersion>, Error> {
        self.ask(&async |session| catalog::get(session, kind, name, version).await)
    }

    fn plan(&self, id: WorkflowId) -> Result<Option<Plan>, Error> {
        let found = self.ask(&async |session| plans::get(session, &[id]).await)?;
        Ok(found.into_iter().next())
    }

    fn plans(&self, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
        self.ask(&async |session| plans::newest(session, query).await)
    }

    fn waiting_plans(&self, page: &Page<WaitingPlan>) -> Result<Paged<Plan, WaitingPlan>, Error> {
        self.ask(&async |session| plans::waiting(session, page).await)
    }

    fn open_executions(&self) -> Result<Vec<(ExecutionStatus, u64)>, Error> {
        self.ask(&async |session| counts::open_executions(session).await)
    }

    fn queued_actions(&self) -> Result<Vec<QueuedCount>, Error> {
        self.ask(&async |session| counts::queued_actions(session).await)
    }

    fn dead_letters(&self) -> Result<u64, Error> {
        self.ask(&async |session| counts::dead_letters(session).await)
    }

    fn file_bytes(&self) -> Result<FileBytes, Error> {
        self.ask(&async |session| counts::file_bytes(session).await)
    }
}
