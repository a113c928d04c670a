//! `sprag switch`: kill switches.

mod list;
mod off;
mod on;

use sprag_wire::Switch;

use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the switches that are on
    #[command(after_help = "Examples:\n  sprag switch list")]
    List(list::Arguments),
    /// Set a switch: no attempt in its scope starts
    #[command(
        after_help = "Examples:\n  sprag switch on machine:order --reason \"charges twice\"\n  sprag switch on type:webhook --mode cancel --for 2h --reason \"outage\""
    )]
    On(on::Arguments),
    /// Release a switch: waiting actions start again
    #[command(after_help = "Examples:\n  sprag switch off swi_01m7kydswteqea2dygh6x7t50q")]
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
fn text(switch: &Switch) -> String {
    let mut table = Table::bare();
    table.pair("id", switch.id.to_string());
    table.pair("scope", &switch.scope);
    table.pair("mode", switch.mode.to_string());
    table.pair("status", switch.status.to_string());
    table.pair("reason", &switch.reason);
    table.pair("by", &switch.by);
    table.pair("since", switch.since.to_string());
    if let Some(expires_at) = switch.expires_at {
        table.pair("expiresAt", expires_at.to_string());
    }
    table.text()
}
