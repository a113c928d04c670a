//! `sprag exec list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::{Names, words};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this machine
    #[arg(long, add = Names::Machines.completer())]
    machine: Option<String>,
    /// Only in this status: running, paused, failed,{n}completed, cancelled
    #[arg(long, add = words(&["running", "paused", "failed", "completed", "cancelled"]))]
    status: Option<String>,
    /// Only with this key
    #[arg(long)]
    key: Option<String>,
    /// Only if this state or a state inside it is active
    #[arg(long, add = Names::States.completer())]
    state: Option<String>,
    /// Only executions that match this filter
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists executions.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        machine,
        status,
        key,
        state,
        filter,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let conditions = [
        ("machine", machine),
        ("status", status),
        ("key", key),
        ("state", state),
        ("filter", filter),
    ];
    let document = page.fetch(&client, &["executions"], &conditions).await?;
    list::known_machine(&client, machine.as_deref(), &document).await?;
    list::show(output, &document, output::executions)?;
    Ok(Exit::Done)
}
