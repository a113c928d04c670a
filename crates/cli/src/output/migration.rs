//! What a move to another version would do, as text.

use std::fmt::Write as _;

use serde::Deserialize;
use sprag_wire::{Divergence, Execution, MigrationCheck, Problem};

use super::table::Table;
use super::terminal::one_line as plain;
use super::views::{dash, instant};
use super::when::span;

/// What became, or would become, of many executions: the rows that `exec migrate` collects.
#[derive(Deserialize)]
pub(crate) struct Migrations {
    data: Vec<Row>,
}

/// What became of one of them, or would.
#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(flatten)]
    result: Moved,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Moved {
    Problem(Problem),
    Check(MigrationCheck),
    Execution(Box<Execution>),
}

/// The check of a migration: states, timers, problems, and where the other version would have led elsewhere.
pub(crate) fn migration(check: &MigrationCheck) -> String {
    let possible = if check.possible { "possible" } else { "impossible" };
    let mut text = format!(
        "version {} to {}: {possible}; nothing was changed\n",
        check.from, check.to
    );
    let mut states = Table::new(&["STATE", "BECOMES"]);
    for state in &check.states {
        let word = |path: &Option<String>, none: &str| plain(path.as_deref().unwrap_or(none));
        states.row(vec![word(&state.from, "(entered)"), word(&state.to, "(nothing)")]);
    }
    let mut timers = Table::new(&["TIMER", "STATE", "DUE", "CHANGE"]);
    for timer in &check.timers {
        let name = match &timer.schedule {
            Some(action) => format!("schedule of {action}"),
            None => format!("after {}", span(timer.after.unwrap_or_default())),
        };
        let state = dash(Some(&timer.state));
        timers.row(vec![name, state, instant(timer.due_at), timer.change.to_string()]);
    }
    for table in [states, timers] {
        if !table.is_empty() {
            text.push_str(&table.text());
        }
    }
    for problem in &check.problems {
        let pointer = Some(problem.pointer.as_str()).filter(|pointer| !pointer.is_empty());
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}: {}", pointer.unwrap_or("/"), dash(Some(&problem.detail)));
    }
    if let Some(Divergence { sequence, detail }) = &check.divergence {
        let _ = writeln!(text, "diverges at entry {sequence}: {}", plain(detail));
    } else if check.possible {
        let _ = writeln!(text, "replayed {} steps, all with the same result", check.replayed);
    }
    text
}

/// What became, or would become, of many executions: a line each.
pub(crate) fn migrations(migrations: &Migrations) -> String {
    let mut table = Table::new(&["ID", "RESULT"]);
    for Row { id, result } in &migrations.data {
        table.row(vec![id.clone(), plain(&told(result))]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn told(result: &Moved) -> String {
    let check = match result {
        Moved::Problem(problem) => return format!("refused: {}", problem.detail),
        Moved::Execution(execution) => return format!("moved to version {}", execution.version),
        Moved::Check(check) => check,
    };
    if let Some(problem) = check.problems.first() {
        return format!("impossible: {}", problem.detail);
    }
    match &check.divergence {
        Some(Divergence { sequence, detail }) => format!("diverges at entry {sequence}: {detail}"),
        None => format!("version {} to {}: the same", check.from, check.to),
    }
}
