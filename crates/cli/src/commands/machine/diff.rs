//! `sprag machine diff`.

use serde_json::json;
use sprag_core::machine::diff;

use super::local;
use crate::client::Remote;
use crate::completion::Names;
use crate::failure::Exit;
use crate::output::{self, Output, plain};

const AFTER_HELP: &str = "\
Exits with 0 if both are the same, 1 if they differ, 2 if one is not valid.

Examples:
  sprag machine diff order order.yaml
  sprag machine diff order@2 order@3";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// A machine file, or a machine of the server: `NAME` or `NAME@VERSION`
    #[arg(value_name = "BEFORE", add = Names::MachinesOrFiles.completer())]
    before: String,
    /// The machine to compare with, in the same form
    #[arg(value_name = "AFTER", add = Names::MachinesOrFiles.completer())]
    after: String,
    #[command(flatten)]
    remote: Remote,
}

/// Shows what is different.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { before, after, remote } = arguments;
    let client = remote.client()?;
    let before = local::load_either(before, &client).await?;
    let after = local::load_either(after, &client).await?;
    let difference = diff(&before, &after);
    match output {
        Output::Json => output::json(&json!(difference))?,
        Output::Text => {
            let lines = difference.lines();
            output::data(&lines.iter().map(|line| plain(line) + "\n").collect::<String>())?;
        }
    }
    Ok(if difference.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}
