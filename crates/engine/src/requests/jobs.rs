//! Bulk jobs: make one, pause it, end it, and take its steps.

use serde_json::{Value, json};
use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, JobId, Slot};
use sprag_core::integrity::audit::Verb;
use sprag_core::text::{self, NAME_BYTES_MAX};
use sprag_core::time::Timestamp;
use sprag_store::Mutation;
use sprag_store::records::{JobItem, JobResult, JobStatus};

use super::audit::{Audit, job_status};
use super::dead_letters::{archive_dead, retry_dead};
use super::idempotency::{stored_answer, with};
use super::{Answer, Code, Command, IfRefused, Refusal, Request, RetryDead, Route, Subject};
use crate::decide::{Decider, LogEntry, Reads};
use crate::jobs::dead_letters::{Fate, RetryLetter, SettledLetter, result_of};
use crate::jobs::{AGAIN_MILLIS, ArchiveAll, CanaryState, JOBS_OPEN_MAX, Job, JobKind, JobView, RetryAll, letters};

/// How far the clocks of nodes may be apart, in milliseconds. A dead letter that another node's clock saw die so soon after
/// a job was made may have been there before.
const SKEW_MILLIS: u64 = 1_000;

impl Answer for Box<JobView> {
    stored_answer!("job");
}

impl Answer for SettledLetter {
    stored_answer!("letter");
}

impl Request for RetryAll {
    type Answer = Box<JobView>;
    const NAME: &'static str = "retry-all";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::RetryDeadLetters, |request| request.filter.clone())
            .making(|job| Some(job.id.to_string()))
            .because(|request| request.reason.as_deref())
            .changing(|request, _, job| job.map(|_| request.filter.clone())),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    /// How many dead letters there were when the job was asked for is no part of it.
    fn subject(&self) -> Option<Subject> {
        let Self {
            filter,
            config,
            version,
            patch,
            reason,
            rate,
            canary,
            expected: _,
        } = self;
        let body = json!({"filter": filter, "config": config, "version": version, "reason": reason});
        Some(Subject {
            target: Value::Null,
            body: with(with(with(body, "patch", patch), "rate", rate), "canary", canary),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        check_new(decider, &self.filter, self.reason.as_deref())?;
        // Jobs live in the control shard, which the first slot belongs to.
        let id = decider.at.mint.job(Slot::default());
        Ok(put(decider, Job::new(id, decider.at.now, self)))
    }
}

/// Refuses a job that cannot begin.
fn check_new(decider: &Decider<'_>, filter: &str, reason: Option<&str>) -> Result<(), Refusal> {
    letters(filter).map_err(|error| Refusal {
        errors: vec![("/filter".to_owned(), error.to_string())],
        ..Refusal::new(Code::FilterInvalid, format!("the filter is not valid: {error}"))
    })?;
    if reason.is_some_and(|reason| reason.len() > NAME_BYTES_MAX) {
        let detail = format!("the reason is longer than {NAME_BYTES_MAX} bytes; shorten it");
        return Err(Refusal::at("/reason", Code::NameInvalid, detail));
    }
    let is_new = |id: &&JobId| decider.known.jobs.get(**id).is_none();
    let new = decider.batch.bulk.keys().filter(is_new).count();
    if decider.known.jobs.open_count() + new >= JOBS_OPEN_MAX {
        let detail = format!("{JOBS_OPEN_MAX} jobs are already open; wait until one ends, or cancel one");
        return Err(Refusal::new(Code::JobsFull, detail));
    }
    Ok(())
}

impl Request for ArchiveAll {
    type Answer = Box<JobView>;
    const NAME: &'static str = "archive-all";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ArchiveDeadLetters, |request| request.filter.clone())
            .making(|job| Some(job.id.to_string()))
            .because(|request| request.reason.as_deref())
            .changing(|request, _, job| job.map(|_| request.filter.clone())),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    /// How many dead letters there were when the job was asked for is no part of it.
    fn subject(&self) -> Option<Subject> {
        let Self {
            filter,
            reason,
            rate,
            canary,
            expected: _,
        } = self;
        let body = json!({"filter": filter, "reason": reason, "archive": true});
        Some(Subject {
            target: Value::Null,
            body: with(with(body, "rate", rate), "canary", canary),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        check_new(decider, &self.filter, self.reason.as_deref())?;
        let id = decider.at.mint.job(Slot::default());
        Ok(put(decider, Job::archiving(id, decider.at.now, self)))
    }
}

/// Pause a job between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseJob(pub JobId);

impl Request for PauseJob {
    type Answer = Box<JobView>;
    const NAME: &'static str = "pause-job";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::PauseJob, |request| request.0.to_string())
            .changing(|request, decider, _| job_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Job(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut job = open(decider, self.0)?;
        if job.status != JobStatus::Paused {
            job.status = JobStatus::Paused;
            job.updated_at = decider.now();
        }
        Ok(put(decider, job))
    }
}

/// Resume a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeJob(pub JobId);

impl Request for ResumeJob {
    type Answer = Box<JobView>;
    const NAME: &'static str = "resume-job";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ResumeJob, |request| request.0.to_string())
            .changing(|request, decider, _| job_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Job(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut job = open(decider, self.0)?;
        if job.status != JobStatus::Running {
            job.status = JobStatus::Running;
            job.updated_at = decider.now();
            job.body.note = None;
        }
        Ok(put(decider, job))
    }
}

/// End a job. What it did stays done; it does not learn what other nodes did about the dead letters it asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelJob(pub JobId);

impl Request for CancelJob {
    type Answer = Box<JobView>;
    const NAME: &'static str = "cancel-job";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::CancelJob, |request| request.0.to_string())
            .changing(|request, decider, _| job_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Job(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut job = open(decider, self.0)?;
        for letter in std::mem::take(&mut job.body.elsewhere) {
            let detail =
                "the job was cancelled before another node answered; that node may have retried the dead letter";
            note(decider, &mut job, SettledLetter::failed(letter, detail.to_owned()));
        }
        job.finish(JobStatus::Cancelled, decider.now());
        Ok(put(decider, job))
    }
}

/// Take the next page of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStep {
    /// Which job.
    pub job: JobId,
    /// The dead letters that its filter met.
    pub letters: Vec<ActionId>,
    /// Those that other nodes have.
    pub elsewhere: Vec<ActionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<ActionId>,
    /// The version whose definition each of them takes, where the job says one.
    pub version: Option<u32>,
}

impl Request for JobStep {
    type Answer = ();
    const NAME: &'static str = "job-step";

    fn route(&self) -> Route {
        Route::Control
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        for &action in &self.letters {
            RetryDead {
                version: self.version,
                ..RetryDead::as_is(action)
            }
            .declare(reads);
        }
    }

    /// Retries each dead letter, and notes what became of it and how far the job is, all in one commit.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let running = find(decider, self.job).filter(|job| job.status == JobStatus::Running);
        // An operator may have paused or ended it in this very batch.
        let Some(mut job) = running else { return Ok(()) };
        if job.watches() {
            judge_canaries(decider, &mut job, &self.letters);
        } else {
            retry_letters(decider, &mut job, self);
        }
        conclude(decider, job);
        Ok(())
    }

    fn if_refused(&self) -> IfRefused<Self> {
        pause_refused(self.job)
    }
}

/// Other nodes settled dead letters of a job, or could not be asked.
#[derive(Clone, Debug)]
pub struct LettersSettled {
    /// Which job.
    pub job: JobId,
    /// Those that were settled.
    pub settled: Vec<SettledLetter>,
}

impl Request for LettersSettled {
    type Answer = ();
    const NAME: &'static str = "letters-settled";

    fn route(&self) -> Route {
        Route::Control
    }

    /// Notes the results. The job asks about the rest again.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let now = decider.now();
        let again_at = now.plus(AGAIN_MILLIS);
        if self.settled.is_empty() {
            decider.known.jobs.ask_again(self.job, again_at);
            return Ok(());
        }
        let Some(mut job) = find(decider, self.job) else {
            return Ok(());
        };
        for settled in &self.settled {
            let all = &mut job.body.elsewhere;
            // A dead letter that was asked about twice may be answered twice.
            if let Some(position) = all.iter().position(|letter| *letter == settled.letter) {
                all.remove(position);
                note(decider, &mut job, settled.clone());
                job.updated_at = now;
            }
        }
        job.again_at = (!job.body.elsewhere.is_empty()).then_some(again_at);
        conclude(decider, job);
        Ok(())
    }

    fn if_refused(&self) -> IfRefused<Self> {
        pause_refused(self.job)
    }
}

/// Delete items of a job that is too old to be kept, and at last the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgetJob {
    /// Which.
    pub job: JobId,
    /// The last of the items.
    pub up_to: u64,
    /// Whether the job itself goes too.
    pub is_last: bool,
}

impl Request for ForgetJob {
    type Answer = ();
    const NAME: &'static str = "forget-job";

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let Self { job, up_to, is_last } = *self;
        decider.batch.log.push(Mutation::DeleteJobItems { job, up_to });
        if is_last {
            decider.batch.log.push(Mutation::DeleteJob(job));
        }
        Ok(())
    }
}

/// The store refuses a step of a job: an operator finds the job paused.
fn pause_refused<R>(job: JobId) -> IfRefused<R> {
    tracing::error!(%job, "store refused a job step, job paused");
    IfRefused::Instead(Box::new(Command::own(PauseJob(job))))
}

fn open(decider: &Decider<'_>, id: JobId) -> Result<Job, Refusal> {
    find(decider, id).ok_or_else(|| {
        let detail = format!("there is no open job `{id}`: it has ended, or the id is wrong; list the jobs");
        Refusal::new(Code::JobUnknown, detail)
    })
}

/// An open job as this batch left it, or as it is stored.
fn find(decider: &Decider<'_>, id: JobId) -> Option<Job> {
    let known = decider.batch.bulk.get(&id).or_else(|| decider.known.jobs.get(id));
    known.filter(|job| job.status.is_open()).cloned()
}

fn put(decider: &mut Decider<'_>, job: Job) -> Box<JobView> {
    let view = JobView::from(&job);
    decider.batch.bulk.insert(job.id, job);
    Box::new(view)
}

fn retry_letters(decider: &mut Decider<'_>, job: &mut Job, step: &JobStep) {
    let now = decider.now();
    job.body.elsewhere.extend(&step.elsewhere);
    let asked = job.letters(step.letters.clone());
    for &letter in &step.letters {
        if decider.shards.owns(letter.slot()) {
            let settled = retry_letter(decider, &RetryLetter::of(&asked, letter));
            note(decider, job, settled);
        } else {
            // Its shard went since the page was read.
            job.body.elsewhere.push(letter);
        }
    }
    let body = &mut job.body;
    body.started_at.get_or_insert(now);
    body.after = step.next;
    body.through = step.next.is_none();
    if let Some(pace) = &mut body.pace {
        pace.take(step.letters.len() + step.elsewhere.len(), now);
    }
    job.again_at = None;
    job.updated_at = now;
}

/// What follows for the job itself once it is known what became of dead letters.
fn conclude(decider: &mut Decider<'_>, mut job: Job) {
    let body = &mut job.body;
    if let Some(canary) = &mut body.canary
        && canary.state == CanaryState::Retrying
        && body.elsewhere.is_empty()
        && (canary.missing() == 0 || body.through)
    {
        match job.kind {
            JobKind::RetryDeadLetters => canary.state = CanaryState::Waiting,
            // An archived letter ends at once: a person looks whether the right ones went.
            JobKind::ArchiveDeadLetters => {
                canary.judge(0);
                if !body.through {
                    job.status = JobStatus::Paused;
                    body.note = Some("the canaries are archived; resume the job to archive the rest".to_owned());
                }
            }
        }
    }
    let is_done = body.through && body.elsewhere.is_empty();
    if is_done && job.status == JobStatus::Running && !job.watches() {
        job.finish(JobStatus::Completed, decider.now());
    }
    decider.batch.bulk.insert(job.id, job);
}

/// Looks how the canaries of a job ended. Once all have, the job continues, or is paused because some died again.
fn judge_canaries(decider: &mut Decider<'_>, job: &mut Job, letters: &[ActionId]) {
    let mut died = 0;
    job.awaited.clear();
    for &letter in letters {
        // One that is gone ended before it went.
        let status = decider.find_action(letter).map(|action| action.status);
        if status.is_some_and(Status::is_open) {
            job.awaited.insert(letter);
        }
        died += usize::from(status == Some(Status::Dead));
    }
    // Ends of canaries that other nodes have, or will have by then, do not arrive here.
    job.again_at = (!decider.shards.is_whole()).then(|| decider.now().plus(AGAIN_MILLIS));
    let Some(canary) = job.body.canary.as_mut().filter(|_| job.awaited.is_empty()) else {
        return;
    };
    canary.judge(died);
    job.updated_at = decider.now();
    if died > 0 {
        job.status = JobStatus::Paused;
        let all = canary.retried;
        let note = format!("{died} of {all} canaries died again; resume the job to continue anyway");
        job.body.note = Some(note);
    }
}

/// Retries a dead letter for a job.
pub(super) fn retry_letter(decider: &mut Decider<'_>, letter: &RetryLetter) -> SettledLetter {
    let RetryLetter {
        job: _,
        made_at,
        retry,
        archive,
    } = letter;
    let found = decider.find_action(retry.action);
    let made_at = if decider.shards.is_whole() {
        *made_at
    } else {
        made_at.plus(SKEW_MILLIS)
    };
    let is_too_young = found.as_ref().is_some_and(|action| is_newer(action, made_at));
    let was_dead = found.is_some_and(|action| action.status == Status::Dead);
    let retried = (!is_too_young).then(|| {
        if *archive {
            archive_dead(decider, retry.action)
        } else {
            retry_dead(decider, retry)
        }
    });
    let (fate, detail) = match retried {
        None => (Fate::TooYoung, None),
        Some(Ok(_)) => {
            let action = retry.action;
            if !*archive {
                decider.batch.logged.push(LogEntry::RetriedByJob { action });
            }
            (Fate::Retried, None)
        }
        Some(Err(refusal)) if was_dead => (Fate::Failed, Some(refusal.detail)),
        Some(Err(refusal)) => (Fate::Skipped, Some(refusal.detail)),
    };
    SettledLetter {
        letter: retry.action,
        fate,
        detail,
    }
}

/// Notes what became of a dead letter, as an item of the job.
fn note(decider: &mut Decider<'_>, job: &mut Job, settled: SettledLetter) {
    let SettledLetter { letter, fate, detail } = settled;
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
    decider.batch.log.push(Mutation::InsertJobItem(JobItem {
        job: job.id,
        number,
        action: letter,
        result,
        detail: detail.map(text::storable),
    }));
}

/// Whether a dead letter became one only after `at`. One whose death was not recorded: its last attempt ended later, or it
/// was made ready later.
fn is_newer(action: &Action, at: Timestamp) -> bool {
    let ended = action.body.attempts.last().and_then(|attempt| attempt.end_time);
    let guessed = ended.unwrap_or(action.run_at).max(action.run_at);
    action.status == Status::Dead && action.body.died_at.unwrap_or(guessed) > at
}
