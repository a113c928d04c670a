//! `sprag action`: actions.

mod health;
mod list;
mod plan_load;
mod queue;
mod show;
mod subject;
mod test;

use super::complete;
use super::one::{ACTIONS, Changed, One};
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

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => complete(list::run(&arguments, output)),
            Self::Show(one) => complete(show::run(&one, output)),
            Self::RetryNow(one) => complete(one.ask(ACTIONS, "retry-now", output, output::action)),
            Self::Cancel(one) => complete(one.ask(ACTIONS, "cancel", output, output::action)),
            Self::Queue(arguments) => complete(queue::run(&arguments, output)),
            Self::Test(arguments) => test::run(&arguments, output),
            Self::PlanLoad(arguments) => plan_load::run(&arguments),
            Self::Health(arguments) => complete(health::run(&arguments, output)),
        }
    }
}
