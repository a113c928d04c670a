//! Bulk jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::document::patch::Operation;
use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;

use crate::values::words::words;
use crate::{Action, Body, WaitingFor};

/// The body of a bulk retry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryAllRequest {
    /// The filter of the dead letters.
    pub filter: String,
    /// The new configuration of each dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// The machine version whose definition the retries use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
    /// A JSON Patch of the document `{timeout, retryPolicy, config}` of each dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<Operation>>,
    /// The reason, shown with the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The most retries per second. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub rate: Option<u32>,
    /// The number of dead letters to retry first. The job continues only if none of them dies again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub canary: Option<u32>,
    /// With `true`, Sprag only reports what the job would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// The body of a bulk archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveAllRequest {
    /// The filter of the dead letters.
    pub filter: String,
    /// The reason, shown with the job.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
    /// The most dead letters per second. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub rate: Option<u32>,
    /// The number of dead letters to archive first. The job then pauses until a person resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub canary: Option<u32>,
    /// With `true`, Sprag only reports what the job would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

impl Body for ArchiveAllRequest {}

/// What a bulk retry would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    /// Always true: Sprag changed nothing.
    pub dry_run: bool,
    /// The filter of the dead letters.
    pub filter: String,
    /// The number of matching dead letters.
    pub expected: Expected,
    /// The first of them, in the order in which a job would retry them.
    pub sample: Vec<Action>,
}

/// How many dead letters match a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedLetters")]
pub struct Expected {
    /// The number that Sprag counted.
    pub count: u64,
    /// Whether there are more than Sprag counted.
    pub more: bool,
}

words! {
    /// The status of a job.
    JobStatus {
        /// The job is working.
        Running = "running",
        /// The job is paused.
        Paused = "paused",
        /// The job has handled every dead letter.
        Completed = "completed",
        /// A person cancelled the job.
        Cancelled = "cancelled",
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The id of the job.
    pub id: JobId,
    /// The type of the job.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status.
    pub status: JobStatus,
    /// The filter of the dead letters.
    pub filter: String,
    /// The new configuration of each dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub config: Option<Value>,
    /// The machine version whose definition the retries use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<u32>,
    /// The JSON Patch of each dead letter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<Operation>,
    /// The reason for the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The most retries per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rate: Option<u32>,
    /// The dead letters that the job retries first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// How many dead letters matched when the job was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Why Sprag paused the job, if no person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The progress.
    pub counts: JobCounts,
    /// What the job waits for.
    pub waiting: JobWaiting,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the first step.
    pub started_at: Option<Timestamp>,
    /// The time of the last progress.
    pub updated_at: Timestamp,
    /// The time of the end.
    pub finished_at: Option<Timestamp>,
}

/// How many dead letters a job has handled, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCounts {
    /// The number matched so far.
    pub matched: u64,
    /// The number retried.
    pub done: u64,
    /// The number skipped, because they were no longer dead letters.
    pub skipped: u64,
    /// The number not retried because of an error.
    pub failed: u64,
}

/// The dead letters that a job retries first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Canary {
    /// The requested number.
    #[schemars(range(min = 1))]
    pub size: u32,
    /// The number retried.
    pub retried: u32,
    /// The number that died again, known when all have ended.
    pub died: u32,
    /// The state of the canaries.
    pub state: CanaryState,
}

words! {
    /// The state of the canaries of a job.
    CanaryState {
        /// The job is retrying them.
        Retrying = "retrying",
        /// The job waits until they have ended.
        Waiting = "waiting",
        /// None died again.
        Passed = "passed",
        /// Some died again, so the job paused.
        Failed = "failed",
    }
}

/// What a job waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum JobWaiting {
    /// The job is working, one step at a time.
    Running {
        /// The time since when.
        since: Timestamp,
    },
    /// The job waits.
    Waiting {
        /// What it waits for.
        #[serde(rename = "for")]
        reason: WaitingFor,
        /// The id or name of what it waits for.
        object: String,
        /// The time since when.
        since: Timestamp,
    },
    /// The job has ended.
    Done,
    /// A state that this version does not know.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

/// One dead letter of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobItem {
    /// The number of the item, from 1, in the order of work.
    #[schemars(range(min = 1))]
    pub number: u64,
    /// The id of the dead letter.
    pub action: ActionId,
    /// The result.
    pub result: JobResult,
    /// The reason, if the job did not retry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

words! {
    /// The result for one dead letter.
    JobResult {
        /// The job retried it.
        Retried = "retried",
        /// The job archived it.
        Archived = "archived",
        /// It was no longer a dead letter.
        Skipped = "skipped",
        /// The job could not retry it.
        Failed = "failed",
    }
}
