//! `sprag config print`.

use crate::config;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Prints the annotated default file, or what it says as JSON.
pub(crate) fn run(output: Output) -> anyhow::Result<Exit> {
    match output {
        Output::Text => output::data(&config::annotated())?,
        Output::Json => output::json(&config::described())?,
    }
    Ok(Exit::Done)
}
