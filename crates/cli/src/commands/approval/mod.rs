//! `sprag approval`: what waits for a person.

use super::list::{self, Page};
use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the plans that wait for approval, most urgent first
    #[command(after_help = "Examples:\n  sprag approval list")]
    List(Arguments),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        let Self::List(Arguments { page, remote }) = self;
        let document = page.fetch(&remote.client()?, &["approvals"], &[]).await?;
        list::show(output, &document, output::workflows)?;
        Ok(Exit::Done)
    }
}
