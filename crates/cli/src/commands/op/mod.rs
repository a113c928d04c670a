//! `sprag op`: the catalog of operations.

mod apply;
mod list;

use super::one::One;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Apply a catalog file: all of its documents, or none
    #[command(after_help = "Examples:\n  sprag op apply catalog/redis.yaml")]
    Apply(apply::Arguments),
    /// List the operations that can be proposed
    #[command(after_help = "Examples:\n  sprag op list\n  sprag op list --kind builtin")]
    List(list::Arguments),
    /// Show an operation with its parameters
    #[command(
        after_help = "Examples:\n  sprag op show redis.drain",
        mut_arg("id", |id| id.help("The name of the operation"))
    )]
    Show(One),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Apply(arguments) => apply::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Show(one) => {
                let document = one.remote.client()?.get(&["operations", &one.id]).send().await?;
                output.show(&document, output::operation)?;
                Ok(Exit::Done)
            }
        }
    }
}
