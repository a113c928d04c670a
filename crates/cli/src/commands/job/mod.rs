//! `sprag job`: bulk work, and how far it is.

mod change;
pub(crate) mod follow;
mod list;
mod show;

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List jobs, newest first
    List(list::Arguments),
    /// Show one job and how far it is, or what became of its items
    Show(show::Arguments),
    /// Hold a job between two steps
    Pause(One),
    /// Let a job go on
    Resume(One),
    /// End a job; what it did stays done
    Cancel(One),
}

/// One job at a server.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// The job's id
    id: String,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::Pause(one) => change::run(&one, "pause", output).await,
            Self::Resume(one) => change::run(&one, "resume", output).await,
            Self::Cancel(one) => change::run(&one, "cancel", output).await,
        }
    }
}
