//! `sprag job`: bulk work, and how far it is.

pub(crate) mod follow;
mod list;
mod show;

use super::one::Changed;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List jobs, newest first
    List(list::Arguments),
    /// Show one job with its progress or its items
    Show(show::Arguments),
    /// Pause a job between two steps
    Pause(Changed),
    /// Resume a job
    Resume(Changed),
    /// Cancel a job; finished items stay
    Cancel(Changed),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::Pause(one) => one.ask("jobs", "pause", output, output::job).await,
            Self::Resume(one) => one.ask("jobs", "resume", output, output::job).await,
            Self::Cancel(one) => one.ask("jobs", "cancel", output, output::job).await,
        }
    }
}
