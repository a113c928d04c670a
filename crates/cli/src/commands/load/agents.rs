//! `sprag load agents`.

use sprag_wire::{Page, RegisteredAgent};

use crate::client::Remote;
use crate::commands::list;
use crate::failure::Exit;
use crate::output::{Output, Table};

/// Lists the agents that registered.
pub(super) async fn run(remote: &Remote, output: Output) -> anyhow::Result<Exit> {
    let document = list::whole(&remote.client()?, &["agents"]).await?;
    list::show(output, &document, text)?;
    Ok(Exit::Done)
}

fn text(agents: &Page<RegisteredAgent>) -> String {
    let mut table = Table::new(&["NAME", "ADDRESS", "LOAD"]);
    for agent in &agents.data {
        let load = agent.load.map(|load| load.to_string()).unwrap_or_default();
        table.row([agent.name.clone(), agent.address.clone(), load]);
    }
    table.text()
}
