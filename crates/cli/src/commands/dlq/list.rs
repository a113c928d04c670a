//! `sprag dlq list`.

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
    /// Only of this action type
    #[arg(long = "type", value_name = "TYPE", add = Names::Types.completer())]
    kind: Option<String>,
    /// Only with this type of last error
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,
    /// Only with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only with this fingerprint, from `dlq show`
    #[arg(long, value_name = "DIGEST")]
    fingerprint: Option<String>,
    /// Only if dead for longer than this, such as 7d
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// Only if dead for less than this, such as 1h
    #[arg(long, value_name = "DURATION")]
    newer_than: Option<String>,
    /// Only dead letters that match this filter
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
        tag,
        fingerprint,
        older_than,
        newer_than,
        filter,
        page,
        remote,
    } = arguments;
    let client = remote.client()?;
    let conditions = [
        ("machine", machine),
        ("type", kind),
        ("error", error),
        ("tag", tag),
        ("fingerprint", fingerprint),
        ("olderThan", older_than),
        ("newerThan", newer_than),
        ("filter", filter),
    ];
    let document = page.fetch(&client, &["dead-letters"], &conditions).await?;
    list::known_machine(&client, machine.as_deref(), &document).await?;
    list::show(output, &document, output::actions)?;
    Ok(Exit::Done)
}
