//! `sprag switch`: kill switches.

mod list;
mod off;
mod on;

use serde_json::Value;

use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the switches that are on
    List(list::Arguments),
    /// Set a switch: no attempt in its scope starts
    On(on::Arguments),
    /// Release a switch: held actions start again
    Off(off::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::On(arguments) => on::run(&arguments, output).await,
            Self::Off(arguments) => off::run(&arguments, output).await,
        }
    }
}

/// A switch, one fact a line.
fn text(switch: &Value) -> String {
    let mut table = Table::bare();
    for name in ["id", "scope", "mode", "status", "reason", "by", "since", "expiresAt"] {
        if let Some(value) = switch[name].as_str() {
            table.pair(name, value);
        }
    }
    table.text()
}
