//! What the lists have in common: which page, and that an empty one and a further one are said on stderr.

use serde_json::Value;

use crate::client::{Client, Request};
use crate::failure::Failure;
use crate::output::{self, Output};

/// Which page of a list.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// At most so many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Go on where the last page ended
    #[arg(long)]
    cursor: Option<String>,
}

impl Page {
    /// The request for this page of what meets all of `conditions` (a field, and what it must be).
    pub(crate) fn of<'c>(&self, request: Request<'c>, conditions: &[(&str, &Option<String>)]) -> Request<'c> {
        let request = conditions
            .iter()
            .fold(request, |request, (name, value)| request.query(name, value.as_ref()));
        request
            .query("limit", Some(self.limit))
            .query("cursor", self.cursor.as_ref())
    }
}

/// Refuses an empty list of a machine that the server does not know: a misspelled name is no empty list.
pub(crate) async fn known_machine(client: &Client, machine: Option<&str>, document: &Value) -> Result<(), Failure> {
    let is_empty = document["data"].as_array().is_none_or(Vec::is_empty);
    if let Some(machine) = machine.filter(|_| is_empty) {
        client.get(&["machines", machine]).send().await?;
    }
    Ok(())
}

/// Shows a page, and on stderr that it is empty or not the last.
pub(crate) fn show(output: Output, document: &Value, text: impl FnOnce(&Value) -> String) -> anyhow::Result<()> {
    output.show(document, text)?;
    if output == Output::Text {
        let is_empty = document["data"].as_array().is_some_and(Vec::is_empty);
        if is_empty && document["nextCursor"].is_null() {
            output::note("nothing found");
        } else if is_empty {
            output::note("nothing found so far");
        }
        if let Some(cursor) = document["nextCursor"].as_str() {
            output::note(&format!("there is more: --cursor {cursor}"));
        }
    }
    Ok(())
}
