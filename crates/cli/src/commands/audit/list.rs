//! `sprag audit list`.

use sprag_wire::{AuditEntry, Page as Listed};

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::failure::Exit;
use crate::output::{Output, Table, dash, instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only entries that match this filter
    #[arg(long)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    remote: Remote,
}

/// Lists entries.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { filter, page, remote } = arguments;
    let client = remote.client()?;
    let document = page.fetch(&client, &["audit"], &[("filter", filter)]).await?;
    list::show(output, &document, text)?;
    Ok(Exit::Done)
}

fn text(page: &Listed<AuditEntry>) -> String {
    let headings = [
        "AT", "WHO", "VERB", "TARGET", "REFUSED", "BEFORE", "AFTER", "REASON", "FROM", "ENTRY",
    ];
    let mut table = Table::new(&headings).optional(&["ENTRY", "FROM", "BEFORE", "AFTER", "REFUSED", "REASON"]);
    for entry in &page.data {
        table.row([
            instant(entry.at),
            entry.principal.clone(),
            entry.verb.clone(),
            entry.target.clone(),
            dash(entry.refused.as_deref()),
            dash(entry.before.as_deref()),
            dash(entry.after.as_deref()),
            dash(entry.reason.as_deref()),
            dash(entry.address.as_deref()),
            format!("{}/{}", entry.shard, entry.sequence),
        ]);
    }
    table.text()
}
