//! The jobs that are not over, and whose turn it is.

use std::collections::BTreeMap;

use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;

use super::dead_letters::LettersToRetry;
use super::{ANSWER_MILLIS, Job};
use crate::requests::JobStep;

/// The jobs that are not over, as stored.
#[derive(Debug)]
pub(crate) struct OpenJobs {
    open: BTreeMap<JobId, Job>,
    /// Whose turn was last.
    served: Option<JobId>,
    /// Whether there may be a job to forget.
    may_forget: bool,
    /// The job that is being forgotten, and up to which item.
    forgotten: Option<(JobId, u64)>,
}

/// The next step of a job.
pub(crate) enum NextStep {
    /// Ask other nodes about these dead letters.
    AskElsewhere(LettersToRetry),
    /// Everything that it needs is known.
    Decide(JobStep),
    /// It needs a page of dead letters.
    Read {
        job: JobId,
        filter: String,
        before: Option<ActionId>,
        limit: usize,
        version: Option<u32>,
    },
}

impl OpenJobs {
    pub(crate) fn new() -> Self {
        Self {
            open: BTreeMap::new(),
            served: None,
            may_forget: true,
            forgotten: None,
        }
    }

    pub(crate) fn add(&mut self, job: Job) {
        self.open.insert(job.id, job);
    }

    /// How many are not over.
    pub(crate) fn open_count(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.open.get(&id)
    }

    /// Whether a step could be taken.
    pub(crate) fn has_work(&self, now: Timestamp) -> bool {
        self.may_forget || self.next_due().is_some_and(|due| due <= now)
    }

    /// When the next step of any job is to be taken.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.open.values().filter_map(Job::due).min()
    }

    pub(crate) fn may_forget(&self) -> bool {
        self.may_forget
    }

    pub(crate) fn nothing_to_forget(&mut self) {
        self.may_forget = false;
    }

    /// Up to which item a job that is too old is forgotten next.
    pub(crate) fn forget_up_to(&mut self, job: JobId, items: u64) -> u64 {
        let earlier = self.forgotten.filter(|(id, _)| *id == job);
        let up_to = earlier.map_or(0, |(_, up_to)| up_to).saturating_add(items);
        self.forgotten = Some((job, up_to));
        up_to
    }

    /// Actions ended: a job may have waited for them.
    fn note_ended(&mut self, ended: impl Iterator<Item = ActionId>) {
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

    /// A batch is durable: jobs as it left them, and the actions that ended in it.
    pub(crate) fn settle(&mut self, batch: BTreeMap<JobId, Job>, ended: impl Iterator<Item = ActionId>) {
        for (id, job) in batch {
            if job.status.is_open() {
                self.open.insert(id, job);
            } else {
                self.open.remove(&id);
                self.may_forget = true;
            }
        }
        self.note_ended(ended);
    }

    /// The owners of a job's dead letters could not be asked: it asks again later.
    pub(crate) fn ask_again(&mut self, id: JobId, at: Timestamp) {
        if let Some(job) = self.open.get_mut(&id) {
            job.again_at = Some(at);
        }
    }

    /// The running job whose turn it is: the next by id after the last one, around.
    fn next(&mut self, now: Timestamp) -> Option<&mut Job> {
        let last = self.served;
        let is_due = |job: &&Job| job.due().is_some_and(|due| due <= now);
        let running = || self.open.values().filter(is_due);
        let later = running().find(|job| last.is_none_or(|last| job.id > last));
        let next = later.or_else(|| running().next())?.id;
        self.served = Some(next);
        self.open.get_mut(&next)
    }

    /// The next step of the job whose turn it is.
    pub(crate) fn next_step(&mut self, now: Timestamp) -> Option<NextStep> {
        let job = self.next(now)?;
        if !job.body.elsewhere.is_empty() {
            job.again_at = Some(now.plus(ANSWER_MILLIS));
            return Some(NextStep::AskElsewhere(job.letters(job.body.elsewhere.clone())));
        }
        let known = |letters: Vec<ActionId>| {
            Some(NextStep::Decide(JobStep {
                job: job.id,
                letters,
                elsewhere: Vec::new(),
                next: None,
                version: None,
            }))
        };
        if let Some(canary) = job.body.canary.as_ref().filter(|_| job.watches()) {
            return known(canary.letters.clone());
        }
        if job.body.through {
            // Its canaries were judged after the last dead letter: there is only its end left.
            return known(Vec::new());
        }
        let limit = job.room(now);
        (limit > 0).then(|| NextStep::Read {
            job: job.id,
            filter: job.body.filter.clone(),
            before: job.body.after,
            limit,
            version: job.body.version,
        })
    }
}
