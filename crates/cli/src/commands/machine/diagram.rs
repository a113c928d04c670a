//! `sprag machine diagram`.

use serde_json::json;
use sprag_core::machine::{DiagramFormat, diagram};

use super::local;
use crate::client::Remote;
use crate::completion::{Names, words};
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A machine file, or one of the server: `NAME` or `NAME@VERSION`
    #[arg(value_name = "FILE|NAME", add = Names::MachinesOrFiles.completer())]
    machine: String,
    /// The format: `svg`, `mermaid` or `dot`
    #[arg(long, default_value = "svg", add = words(&["svg", "mermaid", "dot"]))]
    format: DiagramFormat,
    #[command(flatten)]
    remote: Remote,
}

/// Draws the machine to standard output.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        machine,
        format,
        remote,
    } = arguments;
    let machine = local::load_either(machine, &remote.client()?).await?;
    let drawn = diagram(&machine, *format);
    match output {
        Output::Json => output::json(&json!({"format": format.word(), "diagram": drawn}))?,
        Output::Text => output::data(&drawn)?,
    }
    Ok(Exit::Done)
}
