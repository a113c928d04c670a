//! `sprag switch list`.

use sprag_wire::{Page, Switch};

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{Output, Table, instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Lists the switches that are on.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = client.get(&["kill-switches"]).send().await?;
    list::show(output, &document, text)?;
    Ok(Exit::Done)
}

fn text(page: &Page<Switch>) -> String {
    let mut table =
        Table::new(&["ID", "SCOPE", "MODE", "STATUS", "SINCE", "BY", "REASON"]).optional(&["BY", "SINCE", "MODE"]);
    for switch in &page.data {
        table.row([
            switch.id.to_string(),
            switch.scope.clone(),
            switch.mode.to_string(),
            switch.status.to_string(),
            instant(switch.since),
            switch.by.clone(),
            switch.reason.clone(),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}
