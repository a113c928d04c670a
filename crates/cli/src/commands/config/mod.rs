//! `sprag config`: the configuration of a server.

mod print;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the default `sprag.toml` with every key explained
    Print,
}

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Print => print::run(output),
        }
    }
}
