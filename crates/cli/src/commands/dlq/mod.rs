//! `sprag dlq`: dead letters, the actions that wait for a person.

mod archive_all;
mod groups;
mod list;
mod retry;
mod retry_all;
mod show;

use super::one::{Changed, DEAD_LETTERS, One, of_action};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List dead letters, newest first
    #[command(
        after_help = "Examples:\n  sprag dlq list --machine order --newer-than 1h\n  sprag dlq list --filter 'errorType = \"timeout\"'"
    )]
    List(list::Arguments),
    /// List dead letters by cause: what grows most first
    #[command(after_help = "Examples:\n  sprag dlq groups\n  sprag dlq groups --machine order")]
    Groups(groups::Arguments),
    /// Show a dead letter: cause, request, similar failures, fix
    #[command(
        after_help = "Examples:\n  sprag dlq show order/118/charge",
        mut_arg("id", of_action)
    )]
    Show(One),
    /// Retry a dead letter, with all its attempts again
    #[command(
        after_help = "Examples:\n  sprag dlq retry order/118/charge\n  sprag dlq retry order/118/charge --apply-fix\n  sprag dlq retry order/118/charge --config edited.yaml"
    )]
    Retry(retry::Arguments),
    /// Retry all dead letters that match a filter, in a job
    #[command(
        after_help = "Examples:\n  sprag dlq retry-all --filter 'errorType = \"timeout\"' --dry-run\n  sprag dlq retry-all --filter 'errorType = \"timeout\"' --canary 10 --wait"
    )]
    RetryAll(retry_all::Arguments),
    /// Archive all dead letters that match a filter, in a job
    #[command(after_help = "Examples:\n  sprag dlq archive-all --filter 'machine = \"order\"' --reason void --dry-run")]
    ArchiveAll(archive_all::Arguments),
    /// Archive a dead letter
    #[command(
        after_help = "Examples:\n  sprag dlq archive order/118/charge",
        mut_arg("id", of_action)
    )]
    Archive(Changed),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Groups(arguments) => groups::run(&arguments, output).await,
            Self::Show(one) => show::run(&one, output).await,
            Self::Retry(arguments) => retry::run(&arguments, output).await,
            Self::RetryAll(arguments) => retry_all::run(&arguments, output).await,
            Self::ArchiveAll(arguments) => archive_all::run(&arguments, output).await,
            Self::Archive(one) => one.ask(DEAD_LETTERS, "archive", output, output::action).await,
        }
    }
}
