//! `sprag limit list`.

use sprag_wire::{Limit, Page};

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Lists limited keys.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = list::whole(&client, &["limits"]).await?;
    list::show(output, &document, text)?;
    Ok(Exit::Done)
}

fn text(page: &Page<Limit>) -> String {
    let mut table = super::heading();
    for limit in &page.data {
        super::row(&mut table, limit);
    }
    if table.is_empty() { String::new() } else { table.text() }
}
