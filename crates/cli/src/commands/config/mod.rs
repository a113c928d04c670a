//! `sprag config`: the configuration of a server.

mod print;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print a `sprag.toml` with every key, its default and its meaning
    #[command(after_help = "Examples:\n  sprag config print > sprag.toml")]
    Print,
}

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Print => print::run(output),
        }
    }
}
