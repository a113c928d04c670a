//! `sprag action queue`.

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Shows the queue by type and by line.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = list::whole(&client, &["actions", "queue"]).await?;
    output.show(&document, output::queue)?;
    if output == Output::Text && output::queue(&output::shown(&document)?).is_empty() {
        output::note("no action is queued or running");
    }
    Ok(Exit::Done)
}
