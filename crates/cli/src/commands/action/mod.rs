//! `sprag action`: actions.

mod health;
mod list;
mod plan_load;
mod queue;
mod show;

use super::one::{ACTIONS, Changed, One, of_action};
use super::{complete, testing};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List actions, newest first
    #[command(
        after_help = "Examples:\n  sprag action list --status retrying\n  sprag action list --filter 'type = \"webhook\" AND errorType = \"timeout\"'"
    )]
    List(list::Arguments),
    /// Show one action with its attempts
    #[command(
        after_help = "Examples:\n  sprag action show order/118/charge",
        mut_arg("id", of_action)
    )]
    Show(One),
    /// Start a scheduled or retrying action now
    #[command(
        after_help = "Examples:\n  sprag action retry-now order/118/charge",
        mut_arg("id", of_action)
    )]
    RetryNow(Changed),
    /// Cancel an action
    #[command(
        after_help = "Examples:\n  sprag action cancel order/118/charge",
        mut_arg("id", of_action)
    )]
    Cancel(Changed),
    /// Show how many actions wait and run, by type
    #[command(after_help = "Examples:\n  sprag action queue")]
    Queue(queue::Arguments),
    /// Show success rates, failures and recommendations
    #[command(after_help = "Examples:\n  sprag action health\n  sprag action health charge --window 24h")]
    Health(health::Arguments),
    /// Test an action against scripted replies, or in a sandbox
    Test(testing::Arguments),
    /// Generate a load-test plan for an action
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
            Self::Test(arguments) => testing::run(&arguments, "action-invalid", output),
            Self::PlanLoad(arguments) => plan_load::run(&arguments),
            Self::Health(arguments) => complete(health::run(&arguments, output)),
        }
    }
}
