//! Bulk jobs.

use sprag_core::ids::JobId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape};
use crate::handlers::dead_letters::Bulk;
use crate::request::body::NoFields;

/// The group.
pub(crate) const RESOURCE: &str = "jobs";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one job.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<JobId>(), "The job's id.")
        .reads()
        .refuses([requests::Code::JobUnknown])
}

fn shows(operation: Operation) -> Operation {
    operation.answers::<wire::Job>(200, "The job.")
}

/// What a person does to a job.
fn change(id: &'static str, summary: &'static str) -> Operation {
    shows(one(id, summary))
        .body::<NoFields>()
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}

pub(crate) fn retry_all() -> Operation {
    operation(
        "retryDeadLetters",
        "Retry all dead letters that match a filter, in a job",
    )
    .body::<Bulk>()
    .answers::<wire::Job>(202, "The new job.")
    .located()
    .answers::<wire::DryRun>(200, "With `dryRun`: what the job would do.")
    .writes()
    .once()
    .audited()
    .refuses([
        requests::Code::FilterInvalid,
        requests::Code::NameInvalid,
        requests::Code::JobsFull,
    ])
}

pub(crate) fn list() -> Operation {
    operation("listJobs", "List jobs, newest first")
        .query("status", Shape::of::<wire::JobStatus>(), "Only with this status.")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Job>>(200, "The jobs.")
        .reads()
}

pub(crate) fn show() -> Operation {
    shows(one("showJob", "Show a job and its progress"))
}

pub(crate) fn items() -> Operation {
    one(
        "listJobItems",
        "List the items of a job with their results, in the order of work",
    )
    .paged()
    .answers::<wire::Page<wire::JobItem>>(200, "The items.")
}

pub(crate) fn pause() -> Operation {
    change("pauseJob", "Pause a job after its current step")
}

pub(crate) fn resume() -> Operation {
    change("resumeJob", "Resume a job")
}

pub(crate) fn cancel() -> Operation {
    change("cancelJob", "Cancel a job; finished retries stay")
}
