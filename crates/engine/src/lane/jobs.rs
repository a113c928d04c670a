//! The lane's share of bulk jobs: whose turn it is, and what its next step looks at.
//!
//! A tick takes at most one step of one job, a page of items, after everything else of the batch and only where it
//! fits; open jobs take turns. Steps are commands like any other: decided, committed whole, or never taken.

use std::collections::BTreeMap;

use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::traits::Search;
use sprag_store::{Error, Page};

use super::Lane;
use crate::command::{Internal, JobStep, Request};
use crate::jobs::{ANSWER_MILLIS, FORGET_ITEMS, JOBS_KEPT, Job, STEP_ITEMS, STEP_ROWS, letters};
use crate::options::BATCH_MAX;

/// The jobs that are not over, as stored.
#[derive(Debug)]
pub(crate) struct Jobs {
    open: BTreeMap<JobId, Job>,
    /// Whose turn was last.
    served: Option<JobId>,
    /// Whether there may be a job to forget.
    may_forget: bool,
    /// The job that is being forgotten, and up to which item.
    forgotten: Option<(JobId, u64)>,
}

impl Jobs {
    pub(crate) fn new() -> Self {
        Self {
            open: BTreeMap::new(),
            served: None,
            may_forget: true,
            forgotten: None,
        }
    }

    /// How many are not over.
    pub(crate) fn open_count(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.open.get(&id)
    }

    /// Whether a step could be taken.
    fn has_work(&self, now: Timestamp) -> bool {
        self.may_forget || self.next_due().is_some_and(|due| due <= now)
    }

    /// When the next step of any job is to be taken.
    fn next_due(&self) -> Option<Timestamp> {
        self.open.values().filter_map(Job::due).min()
    }

    /// Actions ended: a job may have waited for them.
    fn hear(&mut self, ended: impl Iterator<Item = ActionId>) {
        let mut watching: Vec<&mut Job> = self.open.values_mut().filter(|job| !job.awaited.is_empty()).collect();
        if watching.is_empty() {
            return;
        }
        for action in ended {
            for job in &mut watching {
                job.awaited.remove(&action);
            }
        }
    }

    /// What a batch left is durable, ends of actions included.
    pub(super) fn settle(&mut self, batch: BTreeMap<JobId, Job>, ended: impl Iterator<Item = ActionId>) {
        for (id, job) in batch {
            if job.status.is_open() {
                self.open.insert(id, job);
            } else {
                self.open.remove(&id);
                self.may_forget = true;
            }
        }
        self.hear(ended);
    }

    /// Nobody could be asked about the letters of a job that other nodes have.
    pub(crate) fn ask_again(&mut self, id: JobId, at: Timestamp) {
        if let Some(job) = self.open.get_mut(&id) {
            job.again_at = Some(at);
        }
    }

    /// The running job whose turn it is: the next by id after the last one, around.
    fn next(&mut self, now: Timestamp) -> Option<&Job> {
        let last = self.served;
        let is_due = |job: &&Job| job.due().is_some_and(|due| due <= now);
        let running = || self.open.values().filter(is_due);
        let later = running().find(|job| last.is_none_or(|last| job.id > last));
        let next = later.or_else(|| running().next())?;
        self.served = Some(next.id);
        Some(next)
    }
}

impl Lane {
    /// Reads the jobs that an earlier process left.
    pub(super) fn gather_jobs(&mut self) -> Result<(), Error> {
        let mut jobs = Jobs::new();
        let rows = if self.owned.owns_control() {
            self.store.get()?.open_jobs(CONTROL)?
        } else {
            Vec::new()
        };
        for row in rows {
            jobs.open.insert(row.id, Job::from_row(row)?);
        }
        self.jobs = jobs;
        Ok(())
    }

    /// Whether a job wants the next tick.
    pub(super) fn jobs_have_work(&self) -> bool {
        self.jobs.has_work(self.now) && self.runs_jobs()
    }

    /// Jobs run where the control shard is, until the engine goes down.
    fn runs_jobs(&self) -> bool {
        self.owned.owns_control() && !self.dispatcher.is_closed()
    }

    /// When a job wants a tick later on.
    pub(super) fn next_job(&self) -> Option<Timestamp> {
        self.jobs.next_due().filter(|_| self.runs_jobs())
    }

    /// The next step of the next job, if the batch has room for it.
    pub(super) fn job_step(&mut self, batch: usize) -> Result<Option<Request>, Error> {
        if !self.jobs_have_work() || batch.saturating_add(STEP_ITEMS) > BATCH_MAX {
            return Ok(None);
        }
        if let Some(forget) = self.forget_step()? {
            return Ok(Some(forget));
        }
        let now = self.now;
        let Some(job) = self.jobs.next(now) else {
            return Ok(None);
        };
        if !job.body.elsewhere.is_empty() {
            let id = job.id;
            self.ask_elsewhere(id);
            return Ok(None);
        }
        if let Some(canary) = job.body.canary.as_ref().filter(|_| job.watches()) {
            return Ok(Some(Request::Internal(Internal::JobStep(JobStep {
                job: job.id,
                letters: canary.letters.clone(),
                elsewhere: Vec::new(),
                next: None,
            }))));
        }
        if job.body.through {
            // Its canaries were judged after the last letter: there is only its end left.
            return Ok(Some(Request::Internal(Internal::JobStep(JobStep {
                job: job.id,
                letters: Vec::new(),
                elsewhere: Vec::new(),
                next: None,
            }))));
        }
        let condition = letters(&job.body.filter).map_err(|error| Error::Corrupt {
            detail: format!("the filter of job `{}` cannot be read: {error}", job.id),
        })?;
        let (id, before, limit) = (job.id, job.body.after, job.room(now));
        if limit == 0 {
            return Ok(None);
        }
        let found = self.rested()?.find_actions(&Search {
            condition,
            page: Page::new(before, limit),
            scan: STEP_ROWS,
        })?;
        let (letters, elsewhere) = found
            .rows
            .into_iter()
            .map(|row| row.id)
            .partition(|letter| self.owned.owns(letter.slot()));
        Ok(Some(Request::Internal(Internal::JobStep(JobStep {
            job: id,
            letters,
            elsewhere,
            next: found.next,
        }))))
    }

    /// Has other nodes asked about the letters of a job that they have. That is written down by now: whoever takes over
    /// from this node asks them again.
    fn ask_elsewhere(&mut self, id: JobId) {
        let again_at = self.now.plus(ANSWER_MILLIS);
        if let Some(job) = self.jobs.open.get_mut(&id) {
            job.again_at = Some(again_at);
            self.hands.deal(job.letters(job.body.elsewhere.clone()));
        }
    }

    /// A page of the items of a job that is too old to be kept. A step that is not committed is taken again: what is
    /// to go is always all up to a number, and the job itself goes last.
    fn forget_step(&mut self) -> Result<Option<Request>, Error> {
        if !self.jobs.may_forget {
            return Ok(None);
        }
        let Some(row) = self.rested()?.job_beyond(CONTROL, JOBS_KEPT)? else {
            self.jobs.may_forget = false;
            return Ok(None);
        };
        let job = Job::from_row(row)?;
        let earlier = self.jobs.forgotten.filter(|(id, _)| *id == job.id);
        let up_to = earlier.map_or(0, |(_, up_to)| up_to).saturating_add(FORGET_ITEMS);
        self.jobs.forgotten = Some((job.id, up_to));
        Ok(Some(Request::Internal(Internal::ForgetJob {
            job: job.id,
            up_to,
            is_last: up_to >= job.body.counts.matched,
        })))
    }
}
