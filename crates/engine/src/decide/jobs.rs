//! Bulk jobs: make one, hold it, end it, and take its steps.

use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, JobId, Slot};
use sprag_core::text::{self, NAME_BYTES_MAX};
use sprag_core::time::Timestamp;
use sprag_store::records::{JobItem, JobResult, JobStatus};
use sprag_store::{Error, Mutation};

use crate::command::{Answer, Code, JobStep, Refusal, Reply};
use crate::jobs::{AGAIN_MILLIS, CanaryState, JOBS_OPEN_MAX, Job, JobView, RetryAll, letters};
use crate::lane::{Lane, LogEntry};
use crate::letters::{Dealt, Fate, RetryLetter, result_of};

/// How far the clocks of nodes may be apart, in milliseconds. A letter that another node's clock saw die so soon after a job
/// was made may have been there before.
const SKEW_MILLIS: u64 = 1_000;

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

    /// Ends a job. What it did stays done; of what it asked of other nodes nobody will hear any more.
    pub(super) fn cancel_job(&mut self, id: JobId) -> Reply {
        let mut job = self.open_job(id)?;
        for letter in std::mem::take(&mut job.body.elsewhere) {
            let detail = "the job was cancelled while another node was asked about it; it may have been retried";
            self.note(&mut job, Dealt::failed(letter, detail.to_owned()));
        }
        job.finish(JobStatus::Cancelled, self.now);
        Ok(self.put_job(job))
    }

    fn with_job(&mut self, id: JobId, change: impl FnOnce(&mut Job, Timestamp)) -> Reply {
        let mut job = self.open_job(id)?;
        change(&mut job, self.now);
        Ok(self.put_job(job))
    }

    fn open_job(&self, id: JobId) -> Result<Job, Refusal> {
        self.find_job(id).ok_or_else(|| {
            let detail = format!("there is no open job `{id}`; it is over, or never was");
            Refusal::new(Code::JobUnknown, detail)
        })
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
        self.conclude_step(job);
        Ok(())
    }

    fn retry_letters(&mut self, job: &mut Job, step: &JobStep) -> Result<(), Error> {
        job.body.elsewhere.extend(&step.elsewhere);
        let asked = job.letters(step.letters.clone());
        for &letter in &step.letters {
            if self.owned.owns(letter.slot()) {
                let dealt = self.retry_letter(&RetryLetter::of(&asked, letter))?;
                self.note(job, dealt);
            } else {
                // Its shard went since the page was read.
                job.body.elsewhere.push(letter);
            }
        }
        let body = &mut job.body;
        body.started_at.get_or_insert(self.now);
        body.after = step.next;
        body.through = step.next.is_none();
        if let Some(pace) = &mut body.pace {
            pace.take(step.letters.len() + step.elsewhere.len(), self.now);
        }
        job.again_at = None;
        job.updated_at = self.now;
        Ok(())
    }

    /// Other nodes dealt with some of the letters that they were asked about. The rest is asked again.
    pub(super) fn note_dealt(&mut self, id: JobId, dealt: &[Dealt]) {
        let again_at = self.now.plus(AGAIN_MILLIS);
        if dealt.is_empty() {
            self.jobs.ask_again(id, again_at);
            return;
        }
        let Some(mut job) = self.find_job(id) else { return };
        for dealt in dealt {
            let all = &mut job.body.elsewhere;
            // What was asked twice may be answered twice.
            if let Some(place) = all.iter().position(|letter| *letter == dealt.letter) {
                all.remove(place);
                self.note(&mut job, dealt.clone());
                job.updated_at = self.now;
            }
        }
        job.again_at = (!job.body.elsewhere.is_empty()).then_some(again_at);
        self.conclude_step(job);
    }

    /// What follows for the job itself once it is known what became of letters.
    fn conclude_step(&mut self, mut job: Job) {
        let body = &mut job.body;
        if let Some(canary) = &mut body.canary
            && canary.state == CanaryState::Retrying
            && body.elsewhere.is_empty()
            && (canary.missing() == 0 || body.through)
        {
            canary.state = CanaryState::Waiting;
        }
        let is_done = body.through && body.elsewhere.is_empty();
        if is_done && job.status == JobStatus::Running && !job.watches() {
            job.finish(JobStatus::Completed, self.now);
        }
        self.batch.bulk.insert(job.id, job);
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
        // How those end that other nodes have, or will have by then, is not heard here.
        job.again_at = (!self.owned.is_whole()).then(|| self.now.plus(AGAIN_MILLIS));
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

    /// Another node's job is about a letter of this one.
    pub(super) fn deal(&mut self, letter: &RetryLetter) -> Result<Reply, Error> {
        Ok(Ok(Answer::Letter(self.retry_letter(letter)?)))
    }

    fn retry_letter(&mut self, letter: &RetryLetter) -> Result<Dealt, Error> {
        let RetryLetter { job: _, made_at, retry } = letter;
        let found = self.find_action(retry.action)?;
        let made_at = if self.owned.is_whole() {
            *made_at
        } else {
            made_at.plus(SKEW_MILLIS)
        };
        let is_too_young = found.as_ref().is_some_and(|action| is_newer(action, made_at));
        let was_dead = found.is_some_and(|action| action.status == Status::Dead);
        let reply = if is_too_young {
            None
        } else {
            Some(self.retry_dead(retry)?)
        };
        let (fate, detail) = match reply {
            None => (Fate::TooYoung, None),
            Some(Ok(_)) => {
                let action = retry.action;
                self.batch.logged.push(LogEntry::RetriedByJob { action });
                (Fate::Retried, None)
            }
            Some(Err(refusal)) if was_dead => (Fate::Failed, Some(refusal.detail)),
            Some(Err(refusal)) => (Fate::Skipped, Some(refusal.detail)),
        };
        Ok(Dealt {
            letter: retry.action,
            fate,
            detail,
        })
    }

    /// Notes what became of a letter, as an item of the job.
    fn note(&mut self, job: &mut Job, dealt: Dealt) {
        let Dealt { letter, fate, detail } = dealt;
        let Some(result) = result_of(fate) else { return };
        let counts = &mut job.body.counts;
        counts.matched += 1;
        *match result {
            JobResult::Done => &mut counts.done,
            JobResult::Skipped => &mut counts.skipped,
            JobResult::Failed => &mut counts.failed,
        } += 1;
        let number = counts.matched;
        if let (JobResult::Done, Some(canary)) = (result, &mut job.body.canary) {
            canary.push(letter);
        }
        self.batch.log.push(Mutation::InsertJobItem(JobItem {
            job: job.id,
            number,
            action: letter,
            result,
            detail: detail.map(text::storable),
        }));
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
