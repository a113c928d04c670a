//! `sprag exec history`.

use crate::client::Remote;
use crate::commands::list::{self, Page};
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The execution: its id, or MACHINE/KEY
    #[arg(add = Names::Executions.completer())]
    id: String,
    /// Show at most this many entries
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue after this cursor of an earlier page
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Shows a page of history, oldest first.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        id,
        limit,
        cursor,
        remote,
    } = arguments;
    let client = remote.client()?;
    let id = client.execution_id(id).await?;
    let page = Page::new(*limit, cursor.clone());
    let document = page.fetch(&client, &["executions", &id, "history"], &[]).await?;
    list::show(output, &document, output::history)?;
    Ok(Exit::Done)
}
