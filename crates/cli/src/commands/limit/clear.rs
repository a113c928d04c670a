//! `sprag limit clear`.

use crate::client::{Remote, Why};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The key
    #[arg(add = Names::Limits.completer())]
    key: String,
    /// Clear only at this revision
    #[arg(long)]
    revision: Option<u64>,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    remote: Remote,
}

/// Lets the definitions count again.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let limit = client
        .delete(&["limits", &arguments.key])
        .matching(arguments.revision)
        .why(&arguments.why)
        .send()
        .await?;
    output.show(&limit, super::one)?;
    Ok(Exit::Done)
}
