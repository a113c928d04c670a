//! Bulk jobs: make one, hold it, end it, and take its steps.

use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, JobId, Slot};
use sprag_core::time::Timestamp;
use sprag_store::records::{JobItem, JobResult, JobStatus};
use sprag_store::traits::shard_of;
use sprag_store::{Error, Mutation};

use super::start::NAME_BYTES_MAX;
use crate::command::{Answer, Code, JobStep, Refusal, Reply, RetryDead};
use crate::jobs::{CanaryState, JOBS_OPEN_MAX, Job, JobView, RetryAll, letters};
use crate::lane::{Lane, elsewhere};

impl Lane {
    /// Makes a job that tries dead letters again.
    pub(super) fn retry_all(&mut self, retry: &RetryAll) -> Reply {
        letters(&retry.filter).map_err(|error| Refusal {
            errors: vec![("/filter".to_owned(), error.to_string())],
            ..Refusal::new(Code::FilterInvalid, format!("the filter cannot be used: {error}"))
        })?;
        if retry
            .reason
            .as_ref()
            .is_some_and(|reason| reason.len() > NAME_BYTES_MAX)
        {
            let detail = format!("the reason is longer than {NAME_BYTES_MAX} bytes");
            return Err(Refusal {
                errors: vec![("/reason".to_owned(), detail.clone())],
                ..Refusal::new(Code::NameInvalid, detail)
            });
        }
        let new = self
            .batch
            .bulk
            .keys()
            .filter(|id| self.jobs.get(**id).is_none())
            .count();
        if self.jobs.open_count() + new >= JOBS_OPEN_MAX {
            let detail = format!("{JOBS_OPEN_MAX} jobs are open already; wait for one to end, or cancel one");
            return Err(Refusal::new(Code::JobsFull, detail));
        }
        // Jobs live in the control shard, which the first slot belongs to.
        let job = Job::new(self.mint.job(Slot::default()), self.now, retry);
        Ok(self.put_job(job))
    }

    /// Holds a job between two steps.
    pub(super) fn pause_job(&mut self, id: JobId) -> Reply {
        self.with_job(id, |job, now| {
            if job.status != JobStatus::Paused {
                job.status = JobStatus::Paused;
                job.updated_at = now;
            }
        })
    }

    /// Lets a job go on.
    pub(super) fn resume_job(&mut self, id: JobId) -> Reply {
        self.with_job(id, |job, now| {
            if job.status != JobStatus::Running {
                job.status = JobStatus::Running;
                job.updated_at = now;
                job.body.note = None;
            }
        })
    }

    /// Ends a job. What it did stays done.
    pub(super) fn cancel_job(&mut self, id: JobId) -> Reply {
        self.with_job(id, |job, now| job.finish(JobStatus::Cancelled, now))
    }

    fn with_job(&mut self, id: JobId, change: impl FnOnce(&mut Job, Timestamp)) -> Reply {
        let Some(mut job) = self.find_job(id) else {
            let detail = format!("there is no open job `{id}`; it is over, or never was");
            return Err(Refusal::new(Code::JobUnknown, detail));
        };
        change(&mut job, self.now);
        Ok(self.put_job(job))
    }

    /// An open job as this batch left it, or as it is stored.
    fn find_job(&self, id: JobId) -> Option<Job> {
        let known = self.batch.bulk.get(&id).or_else(|| self.jobs.get(id));
        known.filter(|job| job.status.is_open()).cloned()
    }

    fn put_job(&mut self, job: Job) -> Answer {
        let view = JobView::from(&job);
        self.batch.bulk.insert(job.id, job);
        Answer::Job(Box::new(view))
    }

    /// Takes a step: tries each letter again, notes what became of it and how far the job is, all in one commit.
    pub(super) fn step_job(&mut self, step: &JobStep) -> Result<(), Error> {
        let running = self.find_job(step.job).filter(|job| job.status == JobStatus::Running);
        // Somebody may have paused or ended it in this very batch.
        let Some(mut job) = running else { return Ok(()) };
        if job.watches() {
            self.judge_canaries(&mut job, &step.letters)?;
        } else {
            self.retry_letters(&mut job, step)?;
        }
        if job.body.through && job.status == JobStatus::Running && !job.watches() {
            job.finish(JobStatus::Completed, self.now);
        }
        self.batch.bulk.insert(job.id, job);
        Ok(())
    }

    fn retry_letters(&mut self, job: &mut Job, step: &JobStep) -> Result<(), Error> {
        for &letter in &step.letters {
            self.retry_letter(job, letter)?;
        }
        let body = &mut job.body;
        body.started_at.get_or_insert(self.now);
        body.after = step.next;
        body.through = step.next.is_none();
        if let Some(pace) = &mut body.pace {
            pace.take(step.letters.len(), self.now);
        }
        if let Some(canary) = &mut body.canary
            && canary.state == CanaryState::Retrying
            && (canary.missing() == 0 || body.through)
        {
            canary.state = CanaryState::Waiting;
        }
        job.updated_at = self.now;
        Ok(())
    }

    /// Looks how the canaries of a job ended. Once all have, the job goes on, or is paused because some died again.
    fn judge_canaries(&mut self, job: &mut Job, letters: &[ActionId]) -> Result<(), Error> {
        let mut died = 0;
        job.awaited.clear();
        for &letter in letters {
            // One that is gone ended before it went.
            let status = self.find_action(letter)?.map(|action| action.status);
            if status.is_some_and(Status::is_open) {
                job.awaited.insert(letter);
            }
            died += usize::from(status == Some(Status::Dead));
        }
        let Some(canary) = job.body.canary.as_mut().filter(|_| job.awaited.is_empty()) else {
            return Ok(());
        };
        canary.judge(died);
        job.updated_at = self.now;
        if died > 0 {
            job.status = JobStatus::Paused;
            let all = canary.retried;
            job.body.note = Some(format!(
                "{died} of {all} canaries died again; resume the job to go on all the same"
            ));
        }
        Ok(())
    }

    fn retry_letter(&mut self, job: &mut Job, letter: ActionId) -> Result<(), Error> {
        let found = self.find_action(letter)?;
        if found.as_ref().is_some_and(|action| is_newer(action, job.created_at)) {
            return Ok(());
        }
        let was_dead = found.is_some_and(|action| action.status == Status::Dead);
        let reply = if self.owned.owns(letter.slot()) {
            self.retry_dead(&RetryDead {
                action: letter,
                config: job.body.config.clone(),
                version: job.body.version,
                patch: job.body.patch.clone(),
            })?
        } else {
            Err(elsewhere(shard_of(letter.slot(), self.owned.shards())))
        };
        if let (Ok(_), Some(canary)) = (&reply, &mut job.body.canary) {
            canary.push(letter);
        }
        let counts = &mut job.body.counts;
        counts.matched += 1;
        let (result, count) = match &reply {
            Ok(_) => (JobResult::Done, &mut counts.done),
            Err(_) if was_dead => (JobResult::Failed, &mut counts.failed),
            Err(_) => (JobResult::Skipped, &mut counts.skipped),
        };
        *count += 1;
        self.batch.log.push(Mutation::InsertJobItem(JobItem {
            job: job.id,
            number: counts.matched,
            action: letter,
            result,
            detail: reply.err().map(|refusal| refusal.detail.replace('\0', "\u{fffd}")),
        }));
        Ok(())
    }

    /// Forgets items of a job that is too old to be kept, and at last the job.
    pub(super) fn forget_job(&mut self, job: JobId, up_to: u64, is_last: bool) {
        self.batch.log.push(Mutation::DeleteJobItems { job, up_to });
        if is_last {
            self.batch.log.push(Mutation::DeleteJob(job));
        }
    }
}

/// Whether a dead letter became one only after `at`. One from before that was written down: its last attempt ended later,
/// or it was made ready later.
fn is_newer(action: &Action, at: Timestamp) -> bool {
    let ended = action.body.attempts.last().and_then(|attempt| attempt.end_time);
    let guessed = ended.unwrap_or(action.run_at).max(action.run_at);
    action.status == Status::Dead && action.body.died_at.unwrap_or(guessed) > at
}
