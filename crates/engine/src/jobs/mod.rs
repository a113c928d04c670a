//! Bulk jobs: what a job is, as the lane keeps it and as the API shows it.
//!
//! A job goes through the dead letters that existed when it was made, newest first, by id: how far it is is stored in
//! the same commit as what it did, so each letter is dealt with once, whatever dies in between. So are its pace and what
//! became of its canaries.

mod canary;
pub mod dead_letters;
mod open;
mod pace;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::document::patch::Operation;
use sprag_core::filter::{self, Condition, Field, Resource};
use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;
use sprag_core::words;
use sprag_store::Error;
use sprag_store::records::{self, JobItem, JobResult, JobStatus};
use sprag_wire::{self as wire, Expected, JobCounts, JobWaiting, WaitingFor};

pub use sprag_wire::Job as JobView;

pub use self::canary::CANARY_MAX;
pub(crate) use self::canary::{Canary, CanaryState};
use self::dead_letters::LettersToRetry;
pub(crate) use self::open::{NextStep, OpenJobs};
pub(crate) use self::pace::Pace;
pub use self::pace::RATE_MAX;

/// Jobs that may be open at the same time.
pub const JOBS_OPEN_MAX: usize = 100;
/// Jobs that are kept once they are over; older ones are forgotten with their items.
pub const JOBS_KEPT: usize = 1_000;
/// The most items of a job in one step.
pub(crate) const STEP_ITEMS: usize = 64;
/// The most rows a step looks at.
pub(crate) const STEP_ROWS: usize = 1_000;
/// How long a job waits for what it asked of other nodes before it asks again, in milliseconds.
pub(crate) const ANSWER_MILLIS: u64 = 12_000;
/// How soon it asks again about letters whose owner could not be asked, and looks again at canaries that other nodes
/// have, in milliseconds.
pub(crate) const AGAIN_MILLIS: u64 = 500;
/// The most items that are forgotten in one step.
pub(crate) const FORGET_ITEMS: u64 = 1_000;

words! {
    /// What a job does to each dead letter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobKind as word {
        /// It is tried again.
        RetryDeadLetters => "retryDeadLetters",
        /// It is archived.
        ArchiveDeadLetters => "archiveDeadLetters",
    }
}

/// The end of all dead letters that meet a filter: they are archived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArchiveAll {
    /// Which.
    pub filter: String,
    /// Why, for those who look later.
    pub reason: Option<String>,
    /// Letters a second, at most [`RATE_MAX`]; as fast as the lane has room for, when not given.
    pub rate: Option<u32>,
    /// Letters that go ahead, at most [`CANARY_MAX`]: then the job pauses, and a person looks at them.
    pub canary: Option<u32>,
    /// How many letters there were when the job was asked for, to tell how far it is.
    pub expected: Option<Expected>,
}

impl ArchiveAll {
    /// The same as a job keeps it.
    fn as_body(&self) -> RetryAll {
        let Self {
            filter,
            reason,
            rate,
            canary,
            expected,
        } = self.clone();
        RetryAll {
            filter,
            reason,
            rate,
            canary,
            expected,
            ..RetryAll::default()
        }
    }
}

/// Another try at all dead letters that meet a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryAll {
    /// Which.
    pub filter: String,
    /// Another configuration for each: raises its generation.
    pub config: Option<Value>,
    /// Take the definition of this version.
    pub version: Option<u32>,
    /// Changes of each as one document of `timeout`, `retryPolicy` and `config`.
    pub patch: Vec<Operation>,
    /// Why, for those who look later.
    pub reason: Option<String>,
    /// Letters a second, at most [`RATE_MAX`]; as fast as the lane has room for, when not given.
    pub rate: Option<u32>,
    /// Letters that go ahead, at most [`CANARY_MAX`]: the rest follows if none of them dies again.
    pub canary: Option<u32>,
    /// How many letters there were when the job was asked for, to tell how far it is.
    pub expected: Option<Expected>,
}

/// A job as the lane decides on it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) kind: JobKind,
    pub(crate) status: JobStatus,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) body: Body,
    /// The canaries that had not ended when the lane last looked. Not stored: a new process looks again.
    pub(crate) awaited: BTreeSet<ActionId>,
    /// When to look again at canaries, or to ask again about letters, that other nodes have: their ends are not heard
    /// here. Not stored.
    pub(crate) again_at: Option<Timestamp>,
}

/// What is stored of a job beside its searchable fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    pub(crate) filter: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) patch: Vec<Operation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pace: Option<Pace>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) canary: Option<Canary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Expected>,
    /// Why it was paused, if not by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// All letters were looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) through: bool,
    #[serde(default)]
    pub(crate) counts: JobCounts,
    /// Letters that other nodes were asked about, or will be, until it is known what became of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) elsewhere: Vec<ActionId>,
    /// The last letter that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<ActionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Timestamp>,
}

impl Job {
    /// A job that was just asked for.
    pub(crate) fn new(id: JobId, at: Timestamp, retry: &RetryAll) -> Self {
        let RetryAll {
            filter,
            config,
            version,
            patch,
            reason,
            rate,
            canary,
            expected,
        } = retry.clone();
        Self {
            id,
            kind: JobKind::RetryDeadLetters,
            status: JobStatus::Running,
            created_at: at,
            updated_at: at,
            body: Body {
                filter,
                config,
                version,
                patch,
                reason,
                pace: rate.map(|rate| Pace::new(rate, at)),
                canary: canary.map(Canary::new),
                expected,
                note: None,
                through: false,
                counts: JobCounts::default(),
                elsewhere: Vec::new(),
                after: None,
                started_at: None,
                finished_at: None,
            },
            awaited: BTreeSet::new(),
            again_at: None,
        }
    }

    /// A job that archives, and was just asked for.
    pub(crate) fn archiving(id: JobId, at: Timestamp, archive: &ArchiveAll) -> Self {
        Self {
            kind: JobKind::ArchiveDeadLetters,
            ..Self::new(id, at, &archive.as_body())
        }
    }

    /// As the store keeps it.
    pub(crate) fn row(&self) -> records::Job {
        records::Job {
            id: self.id,
            kind: self.kind.word().to_owned(),
            status: self.status,
            created_at: self.created_at,
            updated_at: self.updated_at,
            body: serde_json::to_vec(&self.body).unwrap_or_default(),
        }
    }

    /// From what the store kept.
    pub(crate) fn from_row(row: records::Job) -> Result<Self, Error> {
        let records::Job {
            id,
            kind,
            status,
            created_at,
            updated_at,
            body,
        } = row;
        let known = JobKind::ALL.into_iter().find(|known| known.word() == kind);
        let kind = known.ok_or_else(|| Error::Corrupt {
            detail: format!("the stored job `{id}` is of the kind `{kind}`, which this version does not know"),
        })?;
        let body = serde_json::from_slice(&body).map_err(|error| Error::Corrupt {
            detail: format!("the stored job `{id}` cannot be read: {error}"),
        })?;
        Ok(Self {
            id,
            kind,
            status,
            created_at,
            updated_at,
            body,
            awaited: BTreeSet::new(),
            again_at: None,
        })
    }

    /// Whether it waits until its canaries have ended.
    pub(crate) fn watches(&self) -> bool {
        let canary = self.body.canary.as_ref();
        canary.is_some_and(|canary| canary.state == CanaryState::Waiting)
    }

    /// When its next step is to be taken; none while it waits for canaries of this node of which some have not ended.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        if self.status != JobStatus::Running {
            return None;
        }
        if !self.body.elsewhere.is_empty() {
            return Some(self.again_at.unwrap_or(self.created_at));
        }
        if !self.awaited.is_empty() {
            return self.again_at;
        }
        match &self.body.pace {
            Some(pace) if !self.watches() => Some(pace.due()),
            _ => Some(self.created_at),
        }
    }

    /// How many letters the next step may retry.
    pub(crate) fn room(&self, now: Timestamp) -> usize {
        let paced = self.body.pace.map_or(STEP_ITEMS, |pace| pace.room(now));
        let canaries = self.body.canary.as_ref().map_or(0, Canary::missing);
        if canaries == 0 { paced } else { paced.min(canaries) }
    }

    /// What it does to letters.
    pub(crate) fn letters(&self, letters: Vec<ActionId>) -> LettersToRetry {
        LettersToRetry {
            job: self.id,
            made_at: self.created_at,
            config: self.body.config.clone(),
            version: self.body.version,
            patch: self.body.patch.clone(),
            archive: self.kind == JobKind::ArchiveDeadLetters,
            letters,
        }
    }

    /// Ends it.
    pub(crate) fn finish(&mut self, status: JobStatus, now: Timestamp) {
        self.status = status;
        self.updated_at = now;
        self.body.finished_at = Some(now);
    }
}

/// The dead letters that a filter means.
pub(crate) fn letters(text: &str) -> Result<Condition, filter::Error> {
    let dead = Condition::number(Field::Status, sprag_core::action::Status::Dead.number());
    Ok(dead.and(filter::condition(text, Resource::DeadLetters)?))
}

impl From<&Job> for JobView {
    fn from(job: &Job) -> Self {
        let body = job.body.clone();
        Self {
            id: job.id,
            kind: job.kind.word().to_owned(),
            status: shown_status(job.status),
            filter: body.filter,
            config: body.config,
            version: body.version,
            patch: body.patch,
            reason: body.reason,
            rate: body.pace.map(|pace| pace.rate),
            canary: body.canary.as_ref().map(wire::Canary::from),
            expected: body.expected,
            note: body.note,
            counts: body.counts,
            waiting: waiting(job),
            created_at: job.created_at,
            started_at: body.started_at,
            updated_at: job.updated_at,
            finished_at: body.finished_at,
        }
    }
}

/// How a job stands.
fn shown_status(status: JobStatus) -> wire::JobStatus {
    match status {
        JobStatus::Running => wire::JobStatus::Running,
        JobStatus::Paused => wire::JobStatus::Paused,
        JobStatus::Completed => wire::JobStatus::Completed,
        JobStatus::Cancelled => wire::JobStatus::Cancelled,
    }
}

fn waiting(job: &Job) -> JobWaiting {
    match job.status {
        JobStatus::Running if job.watches() => JobWaiting::Waiting {
            reason: WaitingFor::Dependency,
            object: "its canaries to end".to_owned(),
            since: job.updated_at,
        },
        JobStatus::Running if !job.body.elsewhere.is_empty() => JobWaiting::Waiting {
            reason: WaitingFor::Dependency,
            object: "other nodes to retry their letters".to_owned(),
            since: job.updated_at,
        },
        JobStatus::Running => JobWaiting::Running {
            since: job.body.started_at.unwrap_or(job.created_at),
        },
        JobStatus::Paused => JobWaiting::Waiting {
            reason: WaitingFor::Pause,
            object: job.id.to_string(),
            since: job.updated_at,
        },
        JobStatus::Completed | JobStatus::Cancelled => JobWaiting::Done,
    }
}

/// An item of a job as the API shows it.
pub(crate) fn shown_item(item: JobItem, kind: &str) -> wire::JobItem {
    let JobItem {
        job: _,
        number,
        action,
        result,
        detail,
    } = item;
    wire::JobItem {
        number,
        action,
        result: match result {
            JobResult::Done if kind == JobKind::ArchiveDeadLetters.word() => wire::JobResult::Archived,
            JobResult::Done => wire::JobResult::Retried,
            JobResult::Skipped => wire::JobResult::Skipped,
            JobResult::Failed => wire::JobResult::Failed,
        },
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_has_a_word_for_every_status_and_no_others() {
        let statuses = JobStatus::ALL.map(|status| (status.word(), shown_status(status)));
        assert!(statuses.iter().all(|(word, shown)| shown.word() == *word));
        assert_eq!(statuses.len(), wire::JobStatus::WORDS.len());
    }
}
