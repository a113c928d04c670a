//! `sprag action`: actions.

mod cancel;
mod health;
mod list;
mod plan_load;
mod queue;
mod retry_now;
mod show;
mod subject;
mod test;

use serde_json::json;

use super::complete;
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
    /// Rehearse an action definition against scripted replies, or in a sandbox; no server is needed
    Test(test::Arguments),
    /// Make a plan to load an action with: what it meets, in which shares, how long and how many at once
    PlanLoad(plan_load::Arguments),
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
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => complete(list::run(&arguments, output)),
            Self::Show(one) => complete(show::run(&one, output)),
            Self::RetryNow(one) => complete(retry_now::run(&one, output)),
            Self::Cancel(one) => complete(cancel::run(&one, output)),
            Self::Queue(arguments) => complete(queue::run(&arguments, output)),
            Self::Test(arguments) => test::run(&arguments, output),
            Self::PlanLoad(arguments) => plan_load::run(&arguments),
            Self::Health(arguments) => complete(health::run(&arguments, output)),
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
