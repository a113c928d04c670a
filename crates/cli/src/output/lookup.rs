//! What people look up, as text: hits, groups of dead letters, the overview.

use sprag_wire::{Count, DeadLetterGroup, Overview, OverviewProblem, Page, SearchResult};

use super::table::Table;
use super::views::{dash, instant};

/// A number that may be larger.
fn number(Count { count, more }: Count) -> String {
    format!("{count}{}", if more { "+" } else { "" })
}

/// The hits of a search.
pub(crate) fn hits(found: &SearchResult) -> String {
    let mut table = Table::new(&["ID", "KIND", "STATUS", "TITLE"]);
    for hit in &found.data {
        let id = hit
            .parent
            .as_ref()
            .filter(|_| hit.kind.word() == "key")
            .unwrap_or(&hit.id);
        table.row([
            id.clone(),
            hit.kind.to_string(),
            dash(hit.status.as_ref()),
            hit.title.clone(),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

/// Groups of dead letters.
pub(crate) fn letter_groups(found: &Page<DeadLetterGroup>) -> String {
    let headings = [
        "FINGERPRINT",
        "COUNT",
        "LAST HOUR",
        "LAST",
        "MACHINE",
        "ACTION",
        "ERROR",
    ];
    let mut table = Table::new(&headings).optional(&["LAST", "LAST HOUR"]);
    for group in &found.data {
        let error = group
            .error
            .as_ref()
            .map(|error| format!("{}: {}", error.kind, error.message));
        table.row([
            group.fingerprint.clone(),
            number(group.count),
            number(group.recent),
            instant(group.last_at),
            group.machine.clone(),
            group.action_id.clone(),
            dash(error.as_ref()),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

/// What is wrong, and how much is open.
pub(crate) fn overview(overview: &Overview) -> String {
    let Overview {
        executions, actions, ..
    } = overview;
    let mut table = Table::bare();
    let running = format!(
        "{} running, {} paused, {} failed",
        number(executions.running),
        number(executions.paused),
        number(executions.failed)
    );
    table.pair("executions", running);
    let open = format!(
        "{} queued, {} running, {} retrying",
        number(actions.queued),
        number(actions.running),
        number(actions.retrying)
    );
    table.pair("actions", open);
    let dead = &overview.dead_letters;
    table.pair(
        "dead letters",
        format!("{}, {} in the last hour", number(dead.open), number(dead.recent)),
    );
    table.pair("approvals", number(overview.approvals));
    if overview.problems.is_empty() {
        return format!("nothing is wrong\n{}", table.text());
    }
    let problems: String = overview.problems.iter().map(problem).collect();
    format!("{problems}{}", table.text())
}

fn problem(problem: &OverviewProblem) -> String {
    let mut table = Table::bare();
    table.pair(problem.severity.word(), &problem.title);
    if let Some(cause) = &problem.cause {
        table.pair("  cause", cause);
    }
    if let Some(since) = problem.since {
        table.pair("  since", instant(since));
    }
    table.pair("  remedy", &problem.remedy);
    format!("{}\n", table.text())
}
