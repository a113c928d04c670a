//! The lane's share of bulk jobs: which job is next, and what its next step looks at.
//!
//! A tick takes at most one step of one job, a page of items, after everything else of the batch and only where it fits;
//! open jobs take turns. Steps are commands like any other: decided, committed whole, or never taken.

use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::traits::Search;
use sprag_store::{Error, Page};

use super::loader::Loader;
use super::{Lane, recovery};
use crate::engine::options::BATCH_MAX;
use crate::jobs::{FORGET_ITEMS, JOBS_KEPT, Job, NextStep, OpenJobs, STEP_ITEMS, STEP_ROWS, letters};
use crate::requests::{Command, ForgetJob, JobStep};

impl Loader<'_> {
    /// Reads the jobs that an earlier process left.
    pub(super) fn gather_jobs(&mut self) -> Result<(), Error> {
        let mut jobs = OpenJobs::new();
        if self.shards.owns_control() {
            for row in self.store.open_jobs(CONTROL)? {
                jobs.add(Job::from_row(row)?);
            }
        }
        self.known.jobs = jobs;
        Ok(())
    }

    /// A page of the dead letters that a job's filter meets.
    fn page(&mut self, id: JobId, filter: &str, before: Option<ActionId>, limit: usize) -> Result<JobPage, Error> {
        let condition = letters(filter).map_err(|error| Error::Corrupt {
            detail: format!("the filter of job `{id}` cannot be read: {error}"),
        })?;
        let found = self.store.find_actions(&Search {
            condition,
            page: Page::new(before, limit),
            scan: STEP_ROWS,
        })?;
        let ids = found.rows.into_iter().map(|row| row.id);
        let (letters, elsewhere) = ids.partition(|letter| self.shards.owns(letter.slot()));
        Ok(JobPage {
            letters,
            elsewhere,
            next: found.next,
        })
    }

    /// A page of the items of a job that is too old to be kept. A step that is not committed is taken again: what is to go
    /// is always all up to a number, and the job itself goes last.
    fn forget_step(&mut self) -> Result<Option<Command>, Error> {
        if !self.known.jobs.may_forget() {
            return Ok(None);
        }
        let Some(row) = self.store.job_beyond(CONTROL, JOBS_KEPT)? else {
            self.known.jobs.nothing_to_forget();
            return Ok(None);
        };
        let job = Job::from_row(row)?;
        let up_to = self.known.jobs.forget_up_to(job.id, FORGET_ITEMS);
        Ok(Some(Command::own(ForgetJob {
            job: job.id,
            up_to,
            is_last: up_to >= job.body.counts.matched,
        })))
    }
}

/// Dead letters of one step.
struct JobPage {
    letters: Vec<ActionId>,
    elsewhere: Vec<ActionId>,
    next: Option<ActionId>,
}

/// Whether a job wants the next tick.
pub(super) fn jobs_have_work(lane: &Lane) -> bool {
    lane.known.jobs.has_work(lane.now()) && runs_jobs(lane)
}

/// Jobs run where the control shard is, until the engine goes down.
fn runs_jobs(lane: &Lane) -> bool {
    lane.shards.owns_control() && !lane.known.queue.is_closed()
}

/// When a job wants a tick later on.
pub(super) fn next_job(lane: &Lane) -> Option<Timestamp> {
    lane.known.jobs.next_due().filter(|_| runs_jobs(lane))
}

/// The next step of the next job, if the batch has room for it.
pub(super) fn job_step(lane: &mut Lane, batch: usize) -> Result<Option<Command>, Error> {
    if !jobs_have_work(lane) || batch.saturating_add(STEP_ITEMS) > BATCH_MAX {
        return Ok(None);
    }
    if lane.known.jobs.may_forget() {
        rest_and_reach(lane)?;
        if let Some(forget) = lane.loader()?.forget_step()? {
            return Ok(Some(forget));
        }
    }
    let now = lane.now();
    match lane.known.jobs.next_step(now) {
        None => Ok(None),
        Some(NextStep::AskElsewhere(letters)) => {
            // Which dead letters other nodes have is stored by now: a node that takes over asks them again.
            lane.effects.retry_elsewhere(letters);
            Ok(None)
        }
        Some(NextStep::Decide(step)) => Ok(Some(Command::own(step))),
        Some(NextStep::Read {
            job,
            filter,
            before,
            limit,
            version,
        }) => {
            rest_and_reach(lane)?;
            let JobPage {
                letters,
                elsewhere,
                next,
            } = lane.loader()?.page(job, &filter, before, limit)?;
            Ok(Some(Command::own(JobStep {
                job,
                letters,
                elsewhere,
                next,
                version,
            })))
        }
    }
}

/// Waits for everything in flight, so that the store can be read.
fn rest_and_reach(lane: &mut Lane) -> Result<(), Error> {
    lane.rest().map_err(|fatal| fatal.0)?;
    recovery::reach(lane)
}
