//! Bulk jobs.

use sprag_core::ids::JobId;
use sprag_engine::command;
use sprag_wire as wire;

use super::{Operation, Shape};
use crate::body::NoFields;
use crate::handlers::dead_letters::Bulk;

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
        .refuses([command::Code::JobUnknown])
}

fn shows(operation: Operation) -> Operation {
    operation.answers::<wire::Job>(200, "The job as it is now.")
}

/// What a person does to a job.
fn change(id: &'static str, summary: &'static str) -> Operation {
    shows(one(id, summary))
        .body::<NoFields>()
        .writes()
        .once()
        .refuses([command::Code::StatusConflict])
}

pub(crate) fn retry_all() -> Operation {
    operation("retryDeadLetters", "Try all dead letters again that meet a condition")
        .body::<Bulk>()
        .answers::<wire::Job>(202, "The job that does it.")
        .located()
        .answers::<wire::DryRun>(200, "What it would do, with `dryRun`.")
        .writes()
        .once()
        .refuses([
            command::Code::FilterInvalid,
            command::Code::NameInvalid,
            command::Code::JobsFull,
        ])
}

pub(crate) fn list() -> Operation {
    operation("listJobs", "Jobs, newest first")
        .query("status", Shape::of::<wire::JobStatus>(), "Only with this status.")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Job>>(200, "The jobs.")
        .reads()
}

pub(crate) fn show() -> Operation {
    shows(one("showJob", "A job and how far it is"))
}

pub(crate) fn items() -> Operation {
    one("listJobItems", "What became of each dead letter, in the order of work")
        .paged()
        .answers::<wire::Page<wire::JobItem>>(200, "The items.")
}

pub(crate) fn pause() -> Operation {
    change("pauseJob", "Hold a job between two steps")
}

pub(crate) fn resume() -> Operation {
    change("resumeJob", "Let a job continue")
}

pub(crate) fn cancel() -> Operation {
    change("cancelJob", "End a job; what it did stays done")
}
