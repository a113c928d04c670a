//! `sprag exec`: executions.

mod explain;
mod history;
mod list;
mod migrate;
mod replay;
mod send;
mod show;
mod start;
mod watch;

use super::one::{Changed, EXECUTIONS, One, of_execution};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start an execution of a machine
    #[command(
        after_help = "Examples:\n  sprag exec start order --key 118 --var amount=12\n  sprag exec start order --variables order.json --wait 30s"
    )]
    Start(start::Arguments),
    /// Send a message to an execution
    Send(send::Arguments),
    /// List executions, newest first
    #[command(
        after_help = "Examples:\n  sprag exec list --machine order --status running\n  sprag exec list --filter 'status = \"running\" AND createdAt > \"2026-01-01\"'"
    )]
    List(list::Arguments),
    /// Show one execution
    #[command(after_help = "Examples:\n  sprag exec show order/118\n  sprag exec show order/118 --wait 30s")]
    Show(show::Arguments),
    /// Show the history of an execution
    #[command(after_help = "Examples:\n  sprag exec history order/118")]
    History(history::Arguments),
    /// Watch an execution until it closes
    Watch(watch::Arguments),
    /// Explain why an execution waits, and what to do
    #[command(
        after_help = "Examples:\n  sprag exec explain order/118",
        mut_arg("id", of_execution)
    )]
    Explain(One),
    /// Cancel an execution and its open actions
    #[command(after_help = "Examples:\n  sprag exec cancel order/118", mut_arg("id", of_execution))]
    Cancel(Changed),
    /// Take back what a closed execution did
    ///
    /// The compensations of its actions become a workflow, that of the latest{n}effect
    /// first. It waits for approval if one of them needs it.
    #[command(
        after_help = "Examples:\n  sprag exec compensate order/118 --reason \"the customer withdrew\"",
        mut_arg("id", of_execution)
    )]
    Compensate(Changed),
    /// Pause an execution: messages wait, no action starts
    #[command(after_help = "Examples:\n  sprag exec pause order/118", mut_arg("id", of_execution))]
    Pause(Changed),
    /// Resume a paused or failed execution
    #[command(after_help = "Examples:\n  sprag exec resume order/118", mut_arg("id", of_execution))]
    Resume(Changed),
    /// Migrate executions to another version of their machine
    #[command(
        after_help = "Examples:\n  sprag exec migrate order/118 --check\n  sprag exec migrate --filter 'machine = \"order\"' --version 4 --state old=new"
    )]
    Migrate(migrate::Arguments),
    /// Replay the history of an execution and compare the results
    #[command(after_help = "Examples:\n  sprag exec replay order/118", mut_arg("id", of_execution))]
    Replay(One),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Start(arguments) => start::run(&arguments, output).await,
            Self::Send(arguments) => send::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::History(arguments) => history::run(&arguments, output).await,
            Self::Watch(arguments) => watch::run(&arguments, output).await,
            Self::Explain(one) => explain::run(&one, output).await,
            Self::Cancel(one) => one.ask(EXECUTIONS, "cancel", output, output::execution).await,
            Self::Compensate(one) => one.ask(EXECUTIONS, "compensate", output, output::workflow).await,
            Self::Pause(one) => one.ask(EXECUTIONS, "pause", output, output::execution).await,
            Self::Resume(one) => one.ask(EXECUTIONS, "resume", output, output::execution).await,
            Self::Migrate(arguments) => migrate::run(&arguments, output).await,
            Self::Replay(one) => replay::run(&one, output).await,
        }
    }
}
