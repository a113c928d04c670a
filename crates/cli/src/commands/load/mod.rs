//! `sprag load`: load tests on agents.

mod report;
mod run;
mod show;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a load plan on agents
    Run(run::Arguments),
    /// Write a report that compares finished runs
    #[command(after_help = "Examples:\n  sprag load report runs/monday runs/tuesday --to compare.html")]
    Report(report::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Run(arguments) => run::run(&arguments, output),
            Self::Report(arguments) => report::run(&arguments, output),
        }
    }
}
