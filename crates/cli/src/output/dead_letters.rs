//! Dead letters as text: the case file, and what a bulk retry would do.

use serde_json::json;
use sprag_wire::{CaseFile, DryRun, Others, Page};

use super::table::Table;
use super::views::{action, actions, dash, joined};

/// A case file: what to do first, then everything that is known.
pub(crate) fn case_file(file: &CaseFile) -> String {
    let mut table = Table::bare();
    table.pair("suggested fix", dash(file.suggested_fix.as_ref()));
    if !file.fix_patch.is_empty() {
        table.pair(
            "fix as a patch",
            format!("{} (dlq retry --apply-fix)", json!(file.fix_patch)),
        );
    }
    table.pair("a retry can help", yes(file.recoverable));
    table.pair("check before a retry", yes(file.manual_review_required));
    let Others { count, more } = file.others;
    table.pair(
        "failed alike",
        format!(
            "{count}{} others (--fingerprint {})",
            or_more(more),
            dash(file.action.fingerprint.as_ref())
        ),
    );
    table.pair("attempts", file.total_attempts.to_string());
    if let Some(request) = &file.request {
        table.pair("sent", request.config.to_string());
        table.pair("to", dash(request.destination.as_ref()));
        table.pair("secrets", joined(&request.secrets));
        table.pair("timeout", format!("{} ms", request.timeout));
    }
    format!("{}\n{}", table.text(), action(&file.action))
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn or_more(more: bool) -> &'static str {
    if more { " or more" } else { "" }
}

/// What a bulk retry would do.
pub(crate) fn dry_run(run: &DryRun) -> String {
    would_be("retried", run)
}

/// What a bulk archive would do.
pub(crate) fn archive_dry_run(run: &DryRun) -> String {
    would_be("archived", run)
}

fn would_be(done: &str, run: &DryRun) -> String {
    let expected = run.expected;
    let letters = if expected.count == 1 && !expected.more {
        "dead letter"
    } else {
        "dead letters"
    };
    format!(
        "{}{} {letters} would be {done}; nothing was changed\n{}",
        expected.count,
        or_more(expected.more),
        actions(&Page::whole(run.sample.clone()))
    )
}
