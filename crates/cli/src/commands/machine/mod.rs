//! `sprag machine`: machines as files and as a server keeps them.

mod apply;
mod diagram;
mod diff;
pub(super) mod findings;
mod lint;
mod list;
mod local;
mod show;
mod simulate;
pub(super) mod templates;
mod test;

pub(crate) use lint::Known;

use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Say everything that is wrong or doubtful about machine files
    Lint(lint::Arguments),
    /// Give a machine file to a server, which keeps it as a new version
    Apply(apply::Arguments),
    /// List machines with their newest versions
    List(list::Arguments),
    /// Show a machine as the server keeps it
    Show(show::Arguments),
    /// Step through events and show the active states after each; nothing is stored, nothing is sent
    Simulate(simulate::Arguments),
    /// Run scenario files: given, when, then, with mocked actions and simulated time
    Test(test::Arguments),
    /// Draw a machine as SVG, Mermaid or DOT
    Diagram(diagram::Arguments),
    /// Show what is different between two machines
    Diff(diff::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Lint(arguments) => lint::run(&arguments, output),
            Self::Apply(arguments) => apply::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::Simulate(arguments) => simulate::run(&arguments, output),
            Self::Test(arguments) => test::run(&arguments, output),
            Self::Diagram(arguments) => diagram::run(&arguments, output).await,
            Self::Diff(arguments) => diff::run(&arguments, output).await,
        }
    }
}
