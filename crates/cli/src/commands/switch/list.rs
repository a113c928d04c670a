//! `sprag switch list`.

use serde_json::Value;

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

fn text(document: &Value) -> String {
    let mut table =
        Table::new(&["ID", "SCOPE", "MODE", "STATUS", "SINCE", "BY", "REASON"]).optional(&["BY", "SINCE", "MODE"]);
    for switch in document["data"].as_array().into_iter().flatten() {
        let field = |name: &str| switch[name].as_str().unwrap_or_default().to_owned();
        let [id, scope, mode, status] = ["id", "scope", "mode", "status"].map(field);
        let [by, reason] = ["by", "reason"].map(field);
        table.row([id, scope, mode, status, instant(switch, "since"), by, reason]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}
