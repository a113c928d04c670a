//! Dead letters as text: the case file, and what a bulk retry would do.

use serde_json::Value;

use super::table::Table;
use super::views::{action, actions, field};

/// A case file: what to do first, then everything that is known.
pub(crate) fn case_file(document: &Value) -> String {
    let mut table = Table::bare();
    table.pair("suggested fix", field(document, "suggestedFix"));
    if document["fixPatch"].is_array() {
        table.pair(
            "as a patch",
            format!("{} (dlq retry --apply-fix)", document["fixPatch"]),
        );
    }
    table.pair("a retry can help", yes(&document["recoverable"]));
    table.pair("look before a retry", yes(&document["manualReviewRequired"]));
    table.pair("failed alike", alike(document));
    table.pair("attempts", field(document, "totalAttempts"));
    let request = &document["request"];
    if request.is_object() {
        table.pair("sent", request["config"].to_string());
        table.pair("to", field(request, "destination"));
        table.pair("secrets", field(request, "secrets"));
        table.pair("timeout", format!("{} ms", field(request, "timeout")));
    }
    format!("{}\n{}", table.text(), action(document))
}

fn yes(value: &Value) -> &'static str {
    if *value == Value::Bool(true) { "yes" } else { "no" }
}

fn alike(document: &Value) -> String {
    let others = &document["others"];
    let more = if others["more"] == Value::Bool(true) {
        " or more"
    } else {
        ""
    };
    format!(
        "{}{more} others (--fingerprint {})",
        field(others, "count"),
        field(document, "fingerprint")
    )
}

/// What a bulk retry would do.
pub(crate) fn dry_run(document: &Value) -> String {
    let expected = &document["expected"];
    let more = if expected["more"] == Value::Bool(true) {
        " or more"
    } else {
        ""
    };
    let letters = if expected["count"] == 1 && more.is_empty() {
        "dead letter"
    } else {
        "dead letters"
    };
    let list = serde_json::json!({ "data": document["sample"] });
    format!(
        "{}{more} {letters} would be retried; nothing was changed\n{}",
        field(expected, "count"),
        actions(&list)
    )
}
