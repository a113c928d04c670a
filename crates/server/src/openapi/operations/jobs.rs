//! Bulk jobs.

use sprag_engine::command;

use super::{Answer, Operation, page_of, reference, words};

/// The group.
pub(crate) const RESOURCE: &str = "jobs";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one job.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", reference("JobId"), "The job's id.")
        .reads()
        .refuses([command::Code::JobUnknown])
}

fn shows(operation: Operation) -> Operation {
    operation.answers(Answer::json(200, "The job as it is now.", reference("Job")))
}

/// What a person does to a job.
fn change(id: &'static str, summary: &'static str) -> Operation {
    shows(one(id, summary))
        .optional_body(reference("Nothing"))
        .writes()
        .once()
        .refuses([command::Code::StatusConflict])
}

pub(crate) fn retry_all() -> Operation {
    operation("retryDeadLetters", "Try all dead letters again that meet a condition")
        .body(reference("RetryAllRequest"))
        .answers(Answer::json(202, "The job that does it.", reference("Job")).located())
        .answers(Answer::json(
            200,
            "What it would do, with `dryRun`.",
            reference("DryRun"),
        ))
        .writes()
        .once()
        .refuses([
            command::Code::FilterInvalid,
            command::Code::NameInvalid,
            command::Code::JobsFull,
        ])
}

pub(crate) fn list() -> Operation {
    let statuses = words(&["running", "paused", "completed", "cancelled"]);
    operation("listJobs", "Jobs, newest first")
        .query("status", statuses, "Only with this status.")
        .filtered()
        .paged()
        .answers(Answer::json(200, "The jobs.", page_of("Job")))
        .reads()
}

pub(crate) fn show() -> Operation {
    shows(one("showJob", "A job and how far it is"))
}

pub(crate) fn items() -> Operation {
    one("listJobItems", "What became of each dead letter, in the order of work")
        .paged()
        .answers(Answer::json(200, "The items.", page_of("JobItem")))
}

pub(crate) fn pause() -> Operation {
    change("pauseJob", "Hold a job between two steps")
}

pub(crate) fn resume() -> Operation {
    change("resumeJob", "Let a job go on")
}

pub(crate) fn cancel() -> Operation {
    change("cancelJob", "End a job; what it did stays done")
}
