//! `sprag audit heads`: one line of JSON, so that exports can be appended to one file.

use crate::client::Remote;
use crate::failure::Exit;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Prints the heads.
pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let heads = arguments.remote.client()?.get(&["audit", "heads"]).send().await?;
    output::data(&format!("{heads}\n"))?;
    Ok(Exit::Done)
}
