//! `sprag dlq groups`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this machine
    #[arg(long, add = Names::Machines.completer())]
    machine: Option<String>,
    /// Only with this type of error
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists dead letters by cause.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        machine,
        error,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let conditions = [("machine", machine), ("error", error)];
    let document = page.fetch(&client, &["dead-letters", "groups"], &conditions).await?;
    list::known_machine(&client, machine.as_deref(), &document).await?;
    list::show(output, &document, output::letter_groups)?;
    Ok(Exit::Done)
}
