//! Bulk jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::ids::{ActionId, JobId};
use sprag_core::patch::Operation;
use sprag_core::time::Timestamp;

use crate::words::words;
use crate::{Action, WaitingFor};

/// The body of a bulk retry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryAllRequest {
    /// Which dead letters.
    pub filter: String,
    /// Another configuration for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Take the definition of this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// Changes of each as one document of `timeout`, `retryPolicy` and `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<Operation>>,
    /// Why, for those who look later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Dead letters a second; as fast as there is room, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub rate: Option<u32>,
    /// How many go ahead: the rest follows if none of them dies again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub canary: Option<u32>,
    /// Only report what it would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// What a bulk retry would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    /// Always true: nothing was changed.
    pub dry_run: bool,
    /// Which dead letters.
    pub filter: String,
    /// How many.
    pub expected: Expected,
    /// The first of them, in the order of work.
    pub sample: Vec<Action>,
}

/// How many dead letters a filter met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedLetters")]
pub struct Expected {
    /// Those that were counted.
    pub count: u64,
    /// Whether there were more.
    pub more: bool,
}

words! {
    /// How a job stands.
    JobStatus {
        /// It works.
        Running = "running",
        /// It is held.
        Paused = "paused",
        /// Everything is done.
        Completed = "completed",
        /// A person ended it.
        Cancelled = "cancelled",
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stands.
    pub status: JobStatus,
    /// Which dead letters it means.
    pub filter: String,
    /// The configuration that they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub config: Option<Value>,
    /// The version whose definition they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
    /// How they are changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<Operation>,
    /// Why it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Dead letters a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rate: Option<u32>,
    /// Those that go ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// How many dead letters there were when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Why it was paused, if not by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How far it is.
    pub counts: JobCounts,
    /// Why it does not move.
    pub waiting: JobWaiting,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its first step was taken.
    pub started_at: Option<Timestamp>,
    /// When it last made progress.
    pub updated_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// How many dead letters a job met, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCounts {
    /// Met so far.
    pub matched: u64,
    /// Retried.
    pub done: u64,
    /// Skipped, because they were no dead letters any more.
    pub skipped: u64,
    /// Not retried because of an error.
    pub failed: u64,
}

/// The dead letters of a job that go ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Canary {
    /// How many were asked for.
    #[schemars(range(min = 1))]
    pub size: u32,
    /// How many were retried.
    pub retried: u32,
    /// How many of them died again, once all have ended.
    pub died: u32,
    /// How they stand.
    pub state: CanaryState,
}

words! {
    /// How the canaries of a job stand.
    CanaryState {
        /// They are being retried.
        Retrying = "retrying",
        /// The job waits until they have ended.
        Waiting = "waiting",
        /// None died again.
        Passed = "passed",
        /// Some died again: the job was paused.
        Failed = "failed",
    }
}

/// Why a job does not move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum JobWaiting {
    /// It works a step at a time, beside other work.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// Something must happen first.
    Waiting {
        /// What kind of thing.
        #[serde(rename = "for")]
        reason: WaitingFor,
        /// Which one.
        object: String,
        /// Since when.
        since: Timestamp,
    },
    /// Nothing is left to happen.
    Done,
    /// A state that this version does not know.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

/// One dead letter of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobItem {
    /// From 1, in the order of work.
    #[schemars(range(min = 1))]
    pub number: u64,
    /// The dead letter.
    pub action: ActionId,
    /// What became of it.
    pub result: JobResult,
    /// Why, unless it was retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

words! {
    /// What became of a dead letter.
    JobResult {
        /// It is tried again.
        Retried = "retried",
        /// It was no dead letter any more.
        Skipped = "skipped",
        /// It could not be retried.
        Failed = "failed",
    }
}
