//! `sprag dlq`: dead letters, the actions that wait for a person.

mod list;
mod retry;
mod retry_all;
mod show;

use super::one::{Changed, DEAD_LETTERS, One};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List dead letters, newest first
    List(list::Arguments),
    /// Show one dead letter: cause, request, similar failures, fix
    Show(One),
    /// Retry a dead letter with a fresh budget of attempts
    Retry(retry::Arguments),
    /// Retry all dead letters that match a filter, as a job
    RetryAll(retry_all::Arguments),
    /// Archive a dead letter
    Archive(Changed),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(one) => show::run(&one, output).await,
            Self::Retry(arguments) => retry::run(&arguments, output).await,
            Self::RetryAll(arguments) => retry_all::run(&arguments, output).await,
            Self::Archive(one) => one.ask(DEAD_LETTERS, "archive", output, output::action).await,
        }
    }
}
