//! Jobs and their items as text.

use serde_json::Value;

use super::table::Table;
use super::views::{field, instant, list};

/// Jobs, one a line.
pub(crate) fn jobs(document: &Value) -> String {
    let headings = [
        "ID", "STATUS", "MATCHED", "RETRIED", "SKIPPED", "FAILED", "CREATED", "FILTER",
    ];
    let table = Table::new(&headings).optional(&["FILTER", "SKIPPED", "MATCHED", "CREATED"]);
    list(document, table, |item| {
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
    for name in ["id", "type", "status", "filter", "reason", "rate", "note"] {
        if !document[name].is_null() {
            table.pair(name, field(document, name));
        }
    }
    table.pair("items", job_counts(document));
    let canary = &document["canary"];
    if canary.is_object() {
        let counts = [field(canary, "retried"), field(canary, "size"), field(canary, "died")];
        let [retried, size, died] = counts;
        let state = field(canary, "state");
        table.pair(
            "canaries",
            format!("{state}: {retried} of {size} retried, {died} died again"),
        );
    }
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
    let expected = &document["expected"];
    let of = match expected["count"].as_u64() {
        Some(count) if expected["more"] == Value::Bool(true) => format!(" of more than {count}"),
        Some(count) => format!(" of {count}"),
        None => String::new(),
    };
    format!(
        "{}{of} matched: {} retried, {} skipped, {} failed",
        field(counts, "matched"),
        field(counts, "done"),
        field(counts, "skipped"),
        field(counts, "failed")
    )
}

/// Items of a job, one a line.
pub(crate) fn job_items(document: &Value) -> String {
    list(
        document,
        Table::new(&["NUMBER", "ACTION", "RESULT", "DETAIL"]),
        |item| {
            ["number", "action", "result", "detail"]
                .map(|name| field(item, name))
                .to_vec()
        },
    )
}
