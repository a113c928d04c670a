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

use super::one::{Changed, EXECUTIONS, One};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start an execution of a machine
    Start(start::Arguments),
    /// Send a message to an execution
    Send(send::Arguments),
    /// List executions, newest first
    List(list::Arguments),
    /// Show one execution
    Show(show::Arguments),
    /// Show the history of an execution
    History(history::Arguments),
    /// Watch an execution until it closes
    Watch(watch::Arguments),
    /// Explain why an execution waits, and what helps
    Explain(One),
    /// Cancel an execution and its open actions
    Cancel(Changed),
    /// Pause an execution: messages wait, no action starts
    Pause(Changed),
    /// Resume a paused or failed execution
    Resume(Changed),
    /// Migrate executions to another version of their machine
    Migrate(migrate::Arguments),
    /// Replay every step of an execution and compare
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
            Self::Pause(one) => one.ask(EXECUTIONS, "pause", output, output::execution).await,
            Self::Resume(one) => one.ask(EXECUTIONS, "resume", output, output::execution).await,
            Self::Migrate(arguments) => migrate::run(&arguments, output).await,
            Self::Replay(one) => replay::run(&one, output).await,
        }
    }
}
