//! `sprag workflow list`.

use sprag_wire::WorkflowStatus;

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::words;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only workflows with this status
    #[arg(long, add = words(WorkflowStatus::WORDS))]
    status: Option<String>,
    /// Only workflows that this principal proposed
    #[arg(long)]
    proposer: Option<String>,
    /// Only workflows with this reference
    #[arg(long)]
    ticket: Option<String>,
    /// Only workflows of this name or operation
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists workflows.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        status,
        proposer,
        ticket,
        name,
        page,
        remote,
    } = arguments;
    let conditions = [
        ("status", status),
        ("proposer", proposer),
        ("ticket", ticket),
        ("name", name),
    ];
    let document = page.fetch(&remote.client()?, &["workflows"], &conditions).await?;
    list::show(output, &document, output::workflows)?;
    Ok(Exit::Done)
}
