//! `sprag switch show`: a switch, the actions that wait for it, and the attempts that run in its scope.

use serde::Deserialize;
use sprag_wire::{HeldBySwitch, Switch};

use crate::client::Remote;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the switch
    #[arg(add = Names::Switches.completer())]
    id: String,
    #[command(flatten)]
    remote: Remote,
}

/// Shows the switch and what it holds.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let mut document = client.get(&["kill-switches", &arguments.id]).send().await?;
    document["held"] = client.get(&["kill-switches", &arguments.id, "held"]).send().await?;
    output.show(&document, text)?;
    Ok(Exit::Done)
}

/// A switch with what it holds.
#[derive(Deserialize)]
struct Holding {
    #[serde(flatten)]
    switch: Switch,
    held: HeldBySwitch,
}

fn text(holding: &Holding) -> String {
    super::text(&holding.switch) + &super::held(&holding.held)
}
