//! Lists by filter, and jobs, as callers ask for them.

use sprag_core::filter::{Condition, Field};
use sprag_core::ids::{ActionId, ExecutionId, JobId};
use sprag_store::Error;
use sprag_store::traits::{Found, SCAN_MAX, Search};

use crate::command::{Code, Refusal};
use crate::convert::without_variables;
use crate::handle::{Handle, whole};
use crate::jobs::{JOBS_KEPT, JOBS_OPEN_MAX, Job, JobItemView, JobView, RetryAll};
use crate::lane::damaged;
use crate::view::{ActionView, ExecutionView};

impl Handle {
    /// Executions that meet a condition, newest first. A page may be short and still not be the last.
    pub async fn find_executions(
        &self,
        condition: Condition,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Found<ExecutionView, ExecutionId>, Refusal> {
        let handle = self.clone();
        self.read(move |reader| {
            let search = search(condition, before, limit);
            if search.condition.names(Field::State) {
                return handle.find_by_state(reader, &search);
            }
            let found = reader.find_executions(&search)?;
            let views = found.rows.into_iter().map(|row| {
                let aggregate = match whole(reader, row.clone()) {
                    // One that is damaged does not hide the others.
                    Err(Error::Unreadable { detail }) => {
                        without_variables(row, detail).map_err(|error| damaged(&error))?
                    }
                    found => found?,
                };
                let machine = handle.compiled(reader, &aggregate)?;
                Ok(handle.shown(&aggregate, &machine))
            });
            Ok(Found {
                rows: views.collect::<Result<_, _>>()?,
                next: found.next,
            })
        })
        .await
    }

    /// Actions that meet a condition, newest first. A page may be short and still not be the last.
    pub async fn find_actions(
        &self,
        condition: Condition,
        before: Option<ActionId>,
        limit: usize,
    ) -> Result<Found<ActionView, ActionId>, Refusal> {
        let handle = self.clone();
        self.read(move |reader| {
            let found = reader.find_actions(&search(condition, before, limit))?;
            let views = found.rows.into_iter().map(|row| handle.action_view(reader, row));
            Ok(Found {
                rows: views.collect::<Result<_, _>>()?,
                next: found.next,
            })
        })
        .await
    }

    /// Makes a job that tries dead letters again.
    pub async fn retry_all(&self, retry: RetryAll) -> Result<JobView, Refusal> {
        self.once(None).retry_all(retry).await.answer
    }

    /// Holds a job between two steps.
    pub async fn pause_job(&self, id: JobId) -> Result<JobView, Refusal> {
        self.once(None).pause_job(id).await.answer
    }

    /// Lets a job go on.
    pub async fn resume_job(&self, id: JobId) -> Result<JobView, Refusal> {
        self.once(None).resume_job(id).await.answer
    }

    /// Ends a job.
    pub async fn cancel_job(&self, id: JobId) -> Result<JobView, Refusal> {
        self.once(None).cancel_job(id).await.answer
    }

    /// One job.
    pub async fn job(&self, id: JobId) -> Result<JobView, Refusal> {
        let found = self
            .read(move |reader| reader.job(id)?.map(Job::from_row).transpose())
            .await?;
        let unknown = || Refusal::new(Code::JobUnknown, format!("there is no job `{id}`"));
        found.as_ref().map(JobView::from).ok_or_else(unknown)
    }

    /// Jobs that meet a condition, newest first. There are few enough to look at all.
    pub async fn jobs(
        &self,
        condition: Condition,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<Found<JobView, JobId>, Refusal> {
        self.read(move |reader| {
            // One more than are kept: the one that is being forgotten.
            let all = reader.jobs(before, JOBS_KEPT + JOBS_OPEN_MAX + 1)?;
            let mut meant = all.into_iter().filter(|row| condition.holds(row));
            let rows: Vec<JobView> = meant
                .by_ref()
                .take(limit)
                .map(|row| Job::from_row(row).map(|job| JobView::from(&job)))
                .collect::<Result<_, _>>()?;
            let next = meant.next().and(rows.last()).map(|last| last.id);
            Ok(Found { rows, next })
        })
        .await
    }

    /// Items of a job in the order of work, after a number.
    pub async fn job_items(&self, id: JobId, after: u64, limit: usize) -> Result<Vec<JobItemView>, Refusal> {
        self.job(id).await?;
        let items = self.read(move |reader| reader.job_items(id, after, limit)).await?;
        Ok(items.into_iter().map(JobItemView::from).collect())
    }
}

fn search<I>(condition: Condition, before: Option<I>, limit: usize) -> Search<I> {
    Search {
        condition,
        before,
        limit,
        scan: SCAN_MAX,
    }
}
