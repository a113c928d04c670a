//! Jobs and their items as text.

use sprag_wire::{Canary, Job, JobCounts, JobItem, Page};

use super::table::Table;
use super::views::{dash, instant, list};

/// Jobs, one a line.
pub(crate) fn jobs(page: &Page<Job>) -> String {
    let headings = [
        "ID", "STATUS", "MATCHED", "RETRIED", "SKIPPED", "FAILED", "CREATED", "FILTER",
    ];
    let table = Table::new(&headings).optional(&["FILTER", "SKIPPED", "MATCHED", "CREATED"]);
    list(&page.data, table, |job| {
        let JobCounts {
            matched,
            done,
            skipped,
            failed,
        } = job.counts;
        vec![
            job.id.to_string(),
            job.status.to_string(),
            matched.to_string(),
            done.to_string(),
            skipped.to_string(),
            failed.to_string(),
            instant(job.created_at),
            dash(Some(&job.filter)),
        ]
    })
}

/// One job.
pub(crate) fn job(job: &Job) -> String {
    let mut table = Table::bare();
    table.pair("id", job.id.to_string());
    table.pair("type", &job.kind);
    table.pair("status", job.status.to_string());
    table.pair("filter", dash(Some(&job.filter)));
    for (name, given) in [
        ("reason", job.reason.clone()),
        ("rate", job.rate.map(|rate| rate.to_string())),
        ("note", job.note.clone()),
    ] {
        if let Some(given) = given {
            table.pair(name, dash(Some(given)));
        }
    }
    table.pair("items", job_counts(job));
    if let Some(Canary {
        size,
        retried,
        died,
        state,
    }) = &job.canary
    {
        table.pair(
            "canaries",
            format!("{state}: {retried} of {size} retried, {died} died again"),
        );
    }
    table.pair("created", instant(job.created_at));
    table.pair("started", instant(job.started_at));
    table.pair("updated", instant(job.updated_at));
    table.pair("finished", instant(job.finished_at));
    table.text()
}

/// How far a job is, in one line.
pub(crate) fn job_counts(job: &Job) -> String {
    let JobCounts {
        matched,
        done,
        skipped,
        failed,
    } = job.counts;
    let of = match job.expected {
        Some(expected) if expected.more => format!(" of more than {}", expected.count),
        Some(expected) => format!(" of {}", expected.count),
        None => String::new(),
    };
    format!("{matched}{of} matched: {done} retried, {skipped} skipped, {failed} failed")
}

/// Items of a job, one a line.
pub(crate) fn job_items(page: &Page<JobItem>) -> String {
    list(
        &page.data,
        Table::new(&["NUMBER", "ACTION", "RESULT", "DETAIL"]),
        |item| {
            vec![
                item.number.to_string(),
                item.action.to_string(),
                item.result.to_string(),
                dash(item.detail.as_ref()),
            ]
        },
    )
}
