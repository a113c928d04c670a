//! `sprag action`: actions.

mod cancel;
mod health;
mod list;
mod queue;
mod retry_now;
mod show;

use serde_json::json;

use crate::client::{Once, Remote};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List actions, newest first
    List(list::Arguments),
    /// Show one action with its attempts
    Show(One),
    /// Make a scheduled or retrying action due now
    RetryNow(Changed),
    /// End an action
    Cancel(Changed),
    /// Show what waits and what runs
    Queue(queue::Arguments),
    /// Show how actions have been doing, what failed, and what could be changed
    Health(health::Arguments),
}

/// One action at a server.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    /// The action's id
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// One action at a server, to which something is done.
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
            Self::RetryNow(one) => retry_now::run(&one, output).await,
            Self::Cancel(one) => cancel::run(&one, output).await,
            Self::Queue(arguments) => queue::run(&arguments, output).await,
            Self::Health(arguments) => health::run(&arguments, output).await,
        }
    }
}

impl Changed {
    /// Asks for a verb without anything to say about it, and shows the action as it is then.
    async fn ask(&self, verb: &str, output: Output) -> anyhow::Result<Exit> {
        let Self { one, once } = self;
        let client = one.remote.client()?;
        let action = client
            .post(&["actions", &one.id, verb])
            .json(&json!({}))
            .once(once)
            .send()
            .await?;
        output.show(&action, output::action)?;
        Ok(Exit::Done)
    }
}
