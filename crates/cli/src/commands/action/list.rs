//! `sprag action list`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::{Names, words};
use crate::failure::Exit;
use crate::output::{self, Output};

const STATUSES: [&str; 9] = [
    "scheduled",
    "queued",
    "running",
    "retrying",
    "succeeded",
    "dead",
    "cancelled",
    "skipped",
    "archived",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only of this execution: its id, or MACHINE/KEY
    #[arg(long, value_name = "ID", add = Names::Executions.completer())]
    execution: Option<String>,
    /// Only of this machine
    #[arg(long, add = Names::Machines.completer())]
    machine: Option<String>,
    /// Only with this actionId
    #[arg(long, value_name = "ACTION_ID", add = Names::DefinedActions.completer())]
    action: Option<String>,
    /// Only of this type
    #[arg(long = "type", value_name = "TYPE", add = Names::Types.completer())]
    kind: Option<String>,
    /// Only in this status: scheduled, queued, running,{n}retrying, succeeded, dead, cancelled, skipped,{n}archived
    #[arg(long, add = words(&STATUSES))]
    status: Option<String>,
    /// Only actions that match this filter
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists actions.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        execution,
        machine,
        action,
        kind,
        status,
        filter,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let execution = match execution {
        Some(named) => Some(client.execution_id(named).await?),
        None => None,
    };
    let conditions = [
        ("executionId", &execution),
        ("machine", machine),
        ("actionId", action),
        ("type", kind),
        ("status", status),
        ("filter", filter),
    ];
    let document = page.fetch(&client, &["actions"], &conditions).await?;
    list::known_machine(&client, machine.as_deref(), &document).await?;
    list::show(output, &document, output::actions)?;
    Ok(Exit::Done)
}
