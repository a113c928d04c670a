//! `sprag limit`: how many attempts at once, and per time, under a key.

mod clear;
mod list;
mod set;

use serde_json::Value;

use crate::failure::Exit;
use crate::output::{Output, Table, span};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List limits with running and waiting actions
    List(list::Arguments),
    /// Override the limits of a key
    Set(set::Arguments),
    /// Clear the override of a key
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
fn one(limit: &Value) -> String {
    let mut table = heading();
    row(&mut table, limit);
    table.text()
}

fn heading() -> Table {
    Table::new(&["KEY", "DEFINED", "OVERRIDE", "RUNNING", "WAITING"])
}

fn row(table: &mut Table, limit: &Value) {
    let definitions = limit["definitions"].as_array().into_iter().flatten();
    let defined: Vec<String> = definitions.map(numbers).collect();
    let more = if limit["more"] == true { "+" } else { "" };
    table.row([
        limit["key"].as_str().unwrap_or_default().to_owned(),
        defined.join(" | "),
        numbers(&limit["override"]),
        limit["running"].to_string(),
        format!("{}{more}", limit["waiting"]),
    ]);
}

/// `2 at once, 10 per 1m`.
fn numbers(numbers: &Value) -> String {
    let concurrency = numbers["concurrency"].as_u64().map(|count| format!("{count} at once"));
    let rate = numbers["rate"].as_object().map(|rate| {
        let number = |name: &str| rate.get(name).and_then(Value::as_u64).unwrap_or_default();
        format!("{} per {}", number("count"), span(number("per")))
    });
    let parts: Vec<String> = concurrency.into_iter().chain(rate).collect();
    if parts.is_empty() {
        return "-".to_owned();
    }
    parts.join(", ")
}
