//! `sprag dlq`: dead letters, the actions that wait for a person.

mod archive;
mod list;
mod retry;
mod retry_all;
mod show;

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List dead letters, newest first
    List(list::Arguments),
    /// Show one dead letter: why it died, what was sent, who else failed alike, what would mend it
    Show(One),
    /// Try a dead letter again, with a fresh budget of attempts
    Retry(retry::Arguments),
    /// Try all dead letters again that meet a filter, as a job
    RetryAll(retry_all::Arguments),
    /// Put a dead letter away
    Archive(Changed),
}

/// One dead letter at a server.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// The action's id
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// One dead letter at a server, to which something is done.
#[derive(Debug, clap::Args)]
pub(crate) struct Changed {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    once: Once,
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(one) => show::run(&one, output).await,
            Self::Retry(arguments) => retry::run(&arguments, output).await,
            Self::RetryAll(arguments) => retry_all::run(&arguments, output).await,
            Self::Archive(one) => archive::run(&one, output).await,
        }
    }
}
