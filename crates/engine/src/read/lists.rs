//! Lists, page by page, as callers ask for them.
//!
//! A page is bounded in rows and in bytes. The store reads no more rows than fit ([`sprag_store::page`]); each becomes a view,
//! and the caller's `show` makes of it what the caller keeps, before the next view is made. So a page holds the stored rows
//! and what `show` made of them, never all views at once. `show` returns none when it has no room for a view: the page
//! ends before that row. It must have room for the first one.

use sprag_core::filter::{Condition, Field};
use sprag_core::ids::{ActionId, ExecutionId, JobId};
use sprag_store::page::continued;
use sprag_store::traits::{Reader, SCAN_MAX, Search};
use sprag_store::{Error, Page, PageLimit, Paged, ReadKind, records};
use sprag_wire::{HistoryEntry, JobItem, MachineSummary};

use super::handle::ReadHandle;
use super::lookup::LookupHandle;
use super::states::find_by_state;
use super::{machines, open};
use crate::decide::convert::{self, without_variables};
use crate::jobs::{Job, JobView, shown_item};
use crate::lane::damaged;
use crate::read::history;
use crate::read::view::{ActionView, ExecutionView};
use crate::requests::Refusal;

/// Stored bytes of a page of history: less than of other lists, because its views are made together.
const HISTORY_BYTES: usize = 1 << 20;
/// Jobs that are read at once.
const JOBS_PAGE: usize = 1_000;

impl ReadHandle {
    /// Executions that meet a condition, newest first. A page may be short and still not be the last.
    pub async fn find_executions<T: Send + 'static>(
        &self,
        condition: Condition,
        before: Option<ExecutionId>,
        limit: usize,
        mut show: impl FnMut(ExecutionView) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, ExecutionId>, Refusal> {
        let handle = self.clone();
        self.query(ReadKind::Scan, move |reader| {
            let search = search(condition, before, limit);
            if search.condition.names(Field::State) {
                return find_by_state(&handle, reader, &search, show);
            }
            let found = reader.find_executions(&search)?;
            let ids: Vec<ExecutionId> = found.rows.iter().map(|row| row.id).collect();
            // One that is damaged does not hide the others.
            let repair = |row: &records::Execution, detail| {
                without_variables(row.clone(), detail).map_err(|error| damaged(&error))
            };
            let rows = open::each_whole(reader, &found.rows, repair, |state| {
                let machine = handle.compiled(reader, &state)?;
                Ok(show(handle.shown(&state, &machine)))
            })?;
            Ok(Paged {
                next: continued(&ids, &rows, found.next),
                rows,
            })
        })
        .await
    }

    /// Actions that meet a condition, newest first. A page may be short and still not be the last.
    pub async fn find_actions<T: Send + 'static>(
        &self,
        condition: Condition,
        before: Option<ActionId>,
        limit: usize,
        mut show: impl FnMut(ActionView) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, ActionId>, Refusal> {
        let handle = self.clone();
        self.query(ReadKind::Scan, move |reader| {
            let found = reader.find_actions(&search(condition, before, limit))?;
            let ids: Vec<ActionId> = found.rows.iter().map(|row| row.id).collect();
            let rows = shown(found.rows, |row| Ok(show(handle.action_view(reader, row)?)))?;
            Ok(Paged {
                next: continued(&ids, &rows, found.next),
                rows,
            })
        })
        .await
    }

    /// Machines with their newest version, by name, after a name.
    pub async fn machines<T: Send + 'static>(
        &self,
        after: Option<String>,
        limit: usize,
        mut show: impl FnMut(MachineSummary) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, String>, Refusal> {
        self.query(ReadKind::Scan, move |reader| {
            let found = reader.machines(&Page::new(after, limit))?;
            let names: Vec<String> = found.rows.iter().map(|row| row.machine.clone()).collect();
            let rows = shown(found.rows, |row| Ok(show(machines::shown(row)?.0)))?;
            Ok(Paged {
                next: continued(&names, &rows, found.next),
                rows,
            })
        })
        .await
    }

    /// A page of history, oldest first, after a sequence.
    pub async fn history<T: Send + 'static>(
        &self,
        id: ExecutionId,
        after: u64,
        limit: usize,
        mut show: impl FnMut(HistoryEntry) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, u64>, Refusal> {
        let limit = PageLimit {
            rows: limit.min(self.limits.history_page),
            bytes: HISTORY_BYTES,
        };
        self.of_execution(ReadKind::Scan, id, move |handle, reader, row| {
            let newest = row.sequence;
            let views = history_page(handle, reader, row, &Page::new(Some(after), limit))?;
            let sequences: Vec<u64> = views.iter().map(|view| view.sequence).collect();
            let rows = shown(views, |view| Ok(show(view)))?;
            let last = rows.len().checked_sub(1).and_then(|last| sequences.get(last).copied());
            Ok(Paged {
                next: last.filter(|last| *last < newest),
                rows,
            })
        })
        .await
    }

    /// One job.
    pub async fn job(&self, id: JobId) -> Result<JobView, Refusal> {
        let found = self
            .query(ReadKind::Point, move |reader| {
                reader.job(id)?.map(Job::from_row).transpose()
            })
            .await?;
        let unknown = || Refusal::no_job(id);
        found.as_ref().map(JobView::from).ok_or_else(unknown)
    }

    /// Jobs that meet a condition, newest first. There are few enough to look at all.
    pub async fn jobs<T: Send + 'static>(
        &self,
        condition: Condition,
        before: Option<JobId>,
        limit: usize,
        mut show: impl FnMut(JobView) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, JobId>, Refusal> {
        self.query(ReadKind::Scan, move |reader| {
            let (mut rows, mut last, mut before) = (Vec::new(), None, before);
            loop {
                let page = reader.jobs(&Page::new(before, JOBS_PAGE))?;
                for row in page.rows.into_iter().filter(|row| condition.holds(row)) {
                    let id = row.id;
                    let view = JobView::from(&Job::from_row(row)?);
                    let Some(view) = show(view).filter(|_| rows.len() < limit) else {
                        return Ok(Paged { rows, next: last });
                    };
                    rows.push(view);
                    last = Some(id);
                }
                before = page.next;
                if before.is_none() {
                    return Ok(Paged { rows, next: None });
                }
            }
        })
        .await
    }

    /// Items of a job in the order of work, after a number.
    pub async fn job_items<T: Send + 'static>(
        &self,
        id: JobId,
        after: u64,
        limit: usize,
        mut show: impl FnMut(JobItem) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, u64>, Refusal> {
        let kind = self.job(id).await?.kind;
        self.query(ReadKind::Scan, move |reader| {
            let found = reader.job_items(id, &Page::new(Some(after), limit))?;
            let numbers: Vec<u64> = found.rows.iter().map(|item| item.number).collect();
            let rows = shown(found.rows, |item| Ok(show(shown_item(item, &kind))))?;
            Ok(Paged {
                next: continued(&numbers, &rows, found.next),
                rows,
            })
        })
        .await
    }
}

impl LookupHandle<'_> {
    /// A page of history, newest first, before a sequence.
    pub async fn history_back<T: Send + 'static>(
        &self,
        id: ExecutionId,
        before: Option<u64>,
        limit: usize,
        mut show: impl FnMut(HistoryEntry) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, u64>, Refusal> {
        let limit = PageLimit {
            rows: limit.min(self.0.limits().history_page),
            bytes: HISTORY_BYTES,
        };
        let read = self.0.read();
        read.of_execution(ReadKind::Scan, id, move |handle, reader, row| {
            let head = convert::execution_of(row).map_err(|error| damaged(&error))?.head;
            let versions = |version| handle.version(reader, &head.machine, version);
            let views = history::page_back(reader, &head, &Page::new(before, limit), &versions)?;
            let sequences: Vec<u64> = views.iter().map(|view| view.sequence).collect();
            let rows = shown(views, |view| Ok(show(view)))?;
            let last = rows.len().checked_sub(1).and_then(|last| sequences.get(last).copied());
            Ok(Paged {
                next: last.filter(|last| *last > 1),
                rows,
            })
        })
        .await
    }
}

/// The entries of a page of history.
pub(crate) fn history_page(
    handle: &ReadHandle,
    reader: &dyn Reader,
    row: records::Execution,
    page: &Page<u64>,
) -> Result<Vec<HistoryEntry>, Error> {
    let head = convert::execution_of(row).map_err(|error| damaged(&error))?.head;
    let versions = |version| handle.version(reader, &head.machine, version);
    history::page(reader, &head, page, &versions)
}

/// What `show` makes of rows, until it has no room for one.
fn shown<R, T>(rows: Vec<R>, mut show: impl FnMut(R) -> Result<Option<T>, Error>) -> Result<Vec<T>, Error> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        match show(row)? {
            Some(shown) => kept.push(shown),
            None => break,
        }
    }
    Ok(kept)
}

fn search<I>(condition: Condition, before: Option<I>, limit: usize) -> Search<I> {
    Search {
        condition,
        page: Page::new(before, limit),
        scan: SCAN_MAX,
    }
}
