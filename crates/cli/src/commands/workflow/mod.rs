//! `sprag workflow`: proposed operations, what people decide about them, and how their steps stand.

mod decide;
mod list;
mod propose;
mod show;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Propose an operation, or a workflow from a file
    #[command(
        after_help = "Examples:\n  sprag workflow propose redis.drain --param node=a:6379 --reason \"disk full\"\n  sprag workflow propose --file repair.yaml"
    )]
    Propose(propose::Arguments),
    /// List workflows, newest first
    #[command(after_help = "Examples:\n  sprag workflow list --status awaiting_approval")]
    List(list::Arguments),
    /// Show a workflow: its exact plan, and what differs from the last run
    #[command(after_help = "Examples:\n  sprag workflow show wfl_01m7kydswteqea2dygh6x7t50q")]
    Show(show::Arguments),
    /// Approve the plan that you read
    #[command(after_help = "Examples:\n  sprag workflow approve wfl_01m7kydswteqea2dygh6x7t50q --digest 3f1c…")]
    Approve(decide::Approve),
    /// Reject a plan
    #[command(after_help = "Examples:\n  sprag workflow reject wfl_01m7kydswteqea2dygh6x7t50q --comment \"not today\"")]
    Reject(decide::Commented),
    /// Revoke an approval: what has not begun does not begin
    #[command(
        after_help = "Examples:\n  sprag workflow revoke wfl_01m7kydswteqea2dygh6x7t50q --comment \"wrong node\""
    )]
    Revoke(decide::Commented),
    /// Cancel a workflow with every step that has not ended
    #[command(after_help = "Examples:\n  sprag workflow cancel wfl_01m7kydswteqea2dygh6x7t50q --reason duplicate")]
    Cancel(decide::Reasoned),
    /// Continue a failed workflow from the steps that failed
    #[command(after_help = "Examples:\n  sprag workflow resume wfl_01m7kydswteqea2dygh6x7t50q --reason \"disk freed\"")]
    Resume(decide::Reasoned),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Propose(arguments) => propose::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::Approve(arguments) => arguments.run(output).await,
            Self::Reject(arguments) => arguments.run("reject", output).await,
            Self::Revoke(arguments) => arguments.run("revoke", output).await,
            Self::Cancel(arguments) => arguments.run("cancel", output).await,
            Self::Resume(arguments) => arguments.run("resume", output).await,
        }
    }
}
