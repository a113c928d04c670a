//! `sprag audit`: who decided what, and whether the record of it is whole.

mod heads;
mod list;
mod verify;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List decisions, newest first
    #[command(
        after_help = "Examples:\n  sprag audit list\n  sprag audit list --filter 'principal = \"ada\" AND verb = \"switch.on\"'"
    )]
    List(list::Arguments),
    /// Export the ends of all chains
    #[command(after_help = "Examples:\n  sprag audit heads >> /mnt/elsewhere/heads.jsonl")]
    Heads(heads::Arguments),
    /// Check that no entry was changed, dropped or cut off
    #[command(
        after_help = "Examples:\n  sprag audit verify --heads heads.jsonl\n  sprag audit verify --store copy.db --heads heads.jsonl"
    )]
    Verify(verify::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Heads(arguments) => heads::run(&arguments).await,
            Self::Verify(arguments) => verify::run(&arguments, output).await,
        }
    }
}
