//! Jobs and their items as text.

use serde_json::Value;

use super::table::Table;
use super::views::{field, instant, list};

/// Jobs, one a line.
pub(crate) fn jobs(document: &Value) -> String {
    let headings = [
        "ID", "STATUS", "MATCHED", "RETRIED", "SKIPPED", "FAILED", "CREATED", "FILTER",
    ];
    list(document, &headings, |item| {
        let counts = &item["counts"];
        vec![
            field(item, "id"),
            field(item, "status"),
            field(counts, "matched"),
            field(counts, "done"),
            field(counts, "skipped"),
            field(counts, "failed"),
            instant(item, "createdAt"),
            field(item, "filter"),
        ]
    })
}

/// One job.
pub(crate) fn job(document: &Value) -> String {
    let mut table = Table::bare();
    for name in ["id", "type", "status", "filter", "reason"] {
        if !document[name].is_null() {
            table.pair(name, field(document, name));
        }
    }
    table.pair("items", job_counts(document));
    for (name, of) in [
        ("created", "createdAt"),
        ("started", "startedAt"),
        ("updated", "updatedAt"),
        ("finished", "finishedAt"),
    ] {
        table.pair(name, instant(document, of));
    }
    table.text()
}

/// How far a job is, in one line.
pub(crate) fn job_counts(document: &Value) -> String {
    let counts = &document["counts"];
    format!(
        "{} matched: {} retried, {} skipped, {} failed",
        field(counts, "matched"),
        field(counts, "done"),
        field(counts, "skipped"),
        field(counts, "failed")
    )
}

/// Items of a job, one a line.
pub(crate) fn job_items(document: &Value) -> String {
    list(document, &["NUMBER", "ACTION", "RESULT", "DETAIL"], |item| {
        ["number", "action", "result", "detail"]
            .map(|name| field(item, name))
            .to_vec()
    })
}
