//! `sprag dlq list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this machine
    #[arg(long)]
    machine: Option<String>,
    /// Only of this action type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only those whose last error was of this type
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,
    /// Only what meets this, as in 'machine = "order" AND errorType = "timeout"'
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists dead letters.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        machine,
        kind,
        error,
        filter,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let conditions = [
        ("machine", machine),
        ("type", kind),
        ("error", error),
        ("filter", filter),
    ];
    let document = page.of(client.get(&["dead-letters"]), &conditions).send().await?;
    list::show(output, &document, output::actions)?;
    Ok(Exit::Done)
}
