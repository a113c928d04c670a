//! What the lists have in common: which page, and that an empty one and a further one are said on stderr.
//!
//! The server's pages are bounded in bytes. A command follows their cursors until it has as many rows as were asked for.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Client, Request};
use crate::failure::Failure;
use crate::output::{self, Output};

/// Pages of a list that is shown whole. Each has up to 4 MiB.
const WHOLE_PAGES_MAX: usize = 64;

/// Which page of a list.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Show at most this many rows
    #[arg(long, value_name = "COUNT", display_order = 600, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue after this cursor of an earlier page
    #[arg(long, display_order = 601)]
    cursor: Option<String>,
}

impl Page {
    /// So many rows, from where a page ended.
    pub(crate) fn new(limit: u32, cursor: Option<String>) -> Self {
        Self { limit, cursor }
    }

    /// This page of the list at `path`, of what meets all of `conditions` (a field, and what it must be).
    pub(crate) async fn fetch(
        &self,
        client: &Client,
        path: &[&str],
        conditions: &[(&str, &Option<String>)],
    ) -> Result<Value, Failure> {
        let wanted = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let (mut rows, mut cursor) = (Vec::new(), self.cursor.clone());
        loop {
            let request = limited(client.get(path), conditions, wanted - rows.len(), cursor.as_ref());
            let mut page = request.send().await?;
            let found = page["data"].as_array_mut().map(std::mem::take).unwrap_or_default();
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            // A search that found nothing so far may find nothing for long: the caller decides whether it continues.
            let is_over = found.is_empty() || cursor.is_none();
            rows.extend(found);
            if is_over || rows.len() >= wanted {
                return Ok(json!({"data": rows, "nextCursor": cursor}));
            }
        }
    }
}

/// The whole of a list that has no `limit`: as many pages as there are, within reason. A server that never comes to an end
/// leaves its last `nextCursor` in the document.
pub(crate) async fn whole(client: &Client, path: &[&str]) -> Result<Value, Failure> {
    let mut document = client.get(path).send().await?;
    for _ in 1..WHOLE_PAGES_MAX {
        let Some(cursor) = document["nextCursor"].as_str().map(str::to_owned) else {
            break;
        };
        let mut page = client.get(path).query("cursor", Some(&cursor)).send().await?;
        let found = page["data"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if let Some(rows) = document["data"].as_array_mut() {
            rows.extend(found);
        }
        document["nextCursor"] = page["nextCursor"].take();
        if document["nextCursor"] == *cursor {
            break;
        }
    }
    Ok(document)
}

/// The request for at most `limit` rows after a cursor.
fn limited<'c>(
    request: Request<'c>,
    conditions: &[(&str, &Option<String>)],
    limit: usize,
    cursor: Option<&String>,
) -> Request<'c> {
    let request = conditions
        .iter()
        .fold(request, |request, (name, value)| request.query(name, value.as_ref()));
    request.query("limit", Some(limit)).query("cursor", cursor)
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
pub(crate) fn show<T: DeserializeOwned>(
    output: Output,
    document: &Value,
    text: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
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
