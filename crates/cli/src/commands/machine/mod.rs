//! `sprag machine`: machines as files and as a server keeps them.

mod apply;
mod diagram;
mod diff;
pub(super) mod findings;
mod lint;
mod list;
pub(super) mod local;
mod show;
mod simulate;
pub(super) mod templates;
mod versions;

use super::{complete, testing};
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Report every error and warning of machine files
    #[command(after_help = "Examples:\n  sprag machine lint order.yaml\n  sprag machine lint --strict machines/*.yaml")]
    Lint(lint::Arguments),
    /// Apply a machine file to a server as a new version
    #[command(after_help = "Examples:\n  sprag machine apply order.yaml\n  sprag machine apply order.yaml --newest 3")]
    Apply(apply::Arguments),
    /// List machines with their newest versions
    #[command(after_help = "Examples:\n  sprag machine list")]
    List(list::Arguments),
    /// Show a machine
    #[command(
        after_help = "Examples:\n  sprag machine show order\n  sprag machine show order --version 2 --output json"
    )]
    Show(show::Arguments),
    /// List the versions of a machine, newest first
    #[command(after_help = "Examples:\n  sprag machine versions order")]
    Versions(versions::Arguments),
    /// Simulate events and show the active states after each
    Simulate(simulate::Arguments),
    /// Test a machine and its actions with simulated time
    Test(testing::Arguments),
    /// Draw a machine as SVG, Mermaid or DOT
    #[command(
        after_help = "Examples:\n  sprag machine diagram order.yaml > order.svg\n  sprag machine diagram order@2 --format mermaid"
    )]
    Diagram(diagram::Arguments),
    /// Compare two machines
    Diff(diff::Arguments),
}

impl Command {
    pub(crate) fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Lint(arguments) => lint::run(&arguments, output),
            Self::Apply(arguments) => complete(apply::run(&arguments, output)),
            Self::List(arguments) => complete(list::run(&arguments, output)),
            Self::Show(arguments) => complete(show::run(&arguments, output)),
            Self::Versions(arguments) => complete(versions::run(&arguments, output)),
            Self::Simulate(arguments) => simulate::run(&arguments, output),
            Self::Test(arguments) => testing::run(&arguments, "scenario-invalid", output),
            Self::Diagram(arguments) => complete(diagram::run(&arguments, output)),
            Self::Diff(arguments) => complete(diff::run(&arguments, output)),
        }
    }
}
