//! `sprag config print`.

use crate::config;
use crate::failure::Exit;
use crate::output;

/// Prints the annotated default file.
pub(crate) fn run() -> anyhow::Result<Exit> {
    output::data(&config::annotated())?;
    Ok(Exit::Done)
}
