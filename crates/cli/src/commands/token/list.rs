//! `sprag token list`.

use sprag_wire::{Page, Token};

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{Output, Table, instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: Remote,
}

/// Lists the tokens.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let document = client.get(&["tokens"]).send().await?;
    list::show(output, &document, text)?;
    Ok(Exit::Done)
}

fn text(page: &Page<Token>) -> String {
    let mut table = Table::new(&["ID", "NAME", "PRINCIPAL", "ROLES", "STATUS", "CREATED", "EXPIRES"]).optional(&[
        "CREATED",
        "PRINCIPAL",
        "EXPIRES",
    ]);
    for token in &page.data {
        let status = match (token.revoked_at, &token.revoked_by) {
            (None, _) => "active".to_owned(),
            (Some(_), None) => "revoked".to_owned(),
            (Some(_), Some(by)) => format!("revoked by {by}"),
        };
        table.row([
            token.id.to_string(),
            token.name.clone(),
            token.principal.clone(),
            super::roles(token),
            status,
            instant(token.created_at),
            token.expires_at.map_or_else(|| "never".to_owned(), instant),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}
