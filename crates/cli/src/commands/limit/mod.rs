//! `sprag limit`: how many attempts at once, and per time, under a key.

mod clear;
mod list;
mod set;

use serde_json::{Value, json};
use sprag_wire::{Limit, LimitNumbers};

use crate::failure::{Exit, Failure};
use crate::output::{Output, Table, dash, span};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List limits with running and waiting actions
    #[command(after_help = "Examples:\n  sprag limit list")]
    List(list::Arguments),
    /// Override the limits of a key
    #[command(
        after_help = "Examples:\n  sprag limit set crm --concurrency 2 --rate 10/1m\n  sprag limit set order/charge --concurrency 0"
    )]
    Set(set::Arguments),
    /// Clear the override of a key
    #[command(after_help = "Examples:\n  sprag limit clear crm")]
    Clear(clear::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Set(arguments) => set::run(&arguments, output).await,
            Self::Clear(arguments) => clear::run(&arguments, output).await,
        }
    }
}

/// One key.
fn one(limit: &Limit) -> String {
    let mut table = heading();
    row(&mut table, limit);
    table.text()
}

fn heading() -> Table {
    Table::new(&["KEY", "DEFINED", "OVERRIDE", "RUNNING", "WAITING"])
}

fn row(table: &mut Table, limit: &Limit) {
    let defined: Vec<String> = limit.definitions.iter().map(numbers).collect();
    let more = if limit.more { "+" } else { "" };
    table.row([
        limit.key.clone(),
        defined.join(" | "),
        dash(limit.overridden.as_ref().map(|overridden| numbers(&overridden.numbers))),
        limit.running.to_string(),
        format!("{}{more}", limit.waiting),
    ]);
}

/// `2 at once, 10 per 1m`.
fn numbers(numbers: &LimitNumbers) -> String {
    let concurrency = numbers.concurrency.map(|count| format!("{count} at once"));
    let rate = numbers
        .rate
        .map(|rate| format!("{} per {}", rate.count, span(rate.per_millis)));
    let parts: Vec<String> = concurrency.into_iter().chain(rate).collect();
    dash(Some(parts.join(", ")))
}

/// A rate as people write it: `100/1m`.
pub(crate) fn rate_of(text: &str) -> Result<Value, Failure> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(count, per)| Some((count.trim().parse::<u32>().ok()?, per.trim())));
    match parts {
        Some((count, per)) => Ok(json!({"count": count, "per": per})),
        None => Err(Failure::invalid(format!("`{text}` is not a rate")).note("write it as in 100/1m")),
    }
}
