//! `sprag action health`.

use crate::client::Remote;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The actionId [default: all actions]
    #[arg(add = Names::DefinedActions.completer())]
    action: Option<String>,
    /// Time window: 15m, 1h, 24h or 7d
    #[arg(long, default_value = "1h")]
    window: String,
    #[command(flatten)]
    remote: Remote,
}

/// Shows the report.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { action, window, remote } = arguments;
    let client = remote.client()?;
    let request = client
        .get(&["actions", "health"])
        .query("actionId", action.as_ref())
        .query("window", Some(window));
    let report = request.send().await?;
    output.show(&report, output::health)?;
    Ok(Exit::Done)
}
