//! `sprag job`: bulk work, and how far it is.

pub(crate) mod follow;
mod list;
mod show;

use super::one::{Changed, of_job};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List jobs, newest first
    #[command(after_help = "Examples:\n  sprag job list --status running")]
    List(list::Arguments),
    /// Show one job with its progress or its items
    #[command(after_help = "Examples:\n  sprag job show job_01m7kydswteqea2dygh6x7t50q --items")]
    Show(show::Arguments),
    /// Pause a job after its current step
    #[command(
        after_help = "Examples:\n  sprag job pause job_01m7kydswteqea2dygh6x7t50q",
        mut_arg("id", of_job)
    )]
    Pause(Changed),
    /// Resume a job
    #[command(
        after_help = "Examples:\n  sprag job resume job_01m7kydswteqea2dygh6x7t50q",
        mut_arg("id", of_job)
    )]
    Resume(Changed),
    /// Cancel a job; finished retries stay
    #[command(
        after_help = "Examples:\n  sprag job cancel job_01m7kydswteqea2dygh6x7t50q",
        mut_arg("id", of_job)
    )]
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
