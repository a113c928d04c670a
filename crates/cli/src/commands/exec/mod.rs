//! `sprag exec`: executions.

mod cancel;
mod explain;
mod history;
mod list;
mod migrate;
mod pause;
mod replay;
mod resume;
mod send;
mod show;
mod start;
mod watch;

use serde_json::json;

use crate::client::{Once, Remote};
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
    /// Show what happened to an execution
    History(history::Arguments),
    /// Watch what happens to an execution until it is closed
    Watch(watch::Arguments),
    /// Say why an execution is not moving, and what would free it
    Explain(One),
    /// End an execution and all its open actions
    Cancel(Changed),
    /// Hold an execution: messages wait, nothing starts
    Pause(Changed),
    /// Let a paused or failed execution go on
    Resume(Changed),
    /// Move an execution to another version of its machine
    Migrate(migrate::Arguments),
    /// Take every step of an execution again and compare
    Replay(One),
}

/// One execution at a server.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// The execution's id
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// One execution at a server, to which something is done.
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
            Self::Start(arguments) => start::run(&arguments, output).await,
            Self::Send(arguments) => send::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::History(arguments) => history::run(&arguments, output).await,
            Self::Watch(arguments) => watch::run(&arguments, output).await,
            Self::Explain(one) => explain::run(&one, output).await,
            Self::Cancel(one) => cancel::run(&one, output).await,
            Self::Pause(one) => pause::run(&one, output).await,
            Self::Resume(one) => resume::run(&one, output).await,
            Self::Migrate(arguments) => migrate::run(&arguments, output).await,
            Self::Replay(one) => replay::run(&one, output).await,
        }
    }
}

impl Changed {
    /// Asks for a verb without anything to say about it, and shows the execution as it is then.
    async fn ask(&self, verb: &str, output: Output) -> anyhow::Result<Exit> {
        let Self { one, once } = self;
        let client = one.remote.client()?;
        let execution = client
            .post(&["executions", &one.id, verb])
            .json(&json!({}))
            .once(once)
            .send()
            .await?;
        output.show(&execution, output::execution)?;
        Ok(Exit::Done)
    }
}
