//! `sprag exec resume`.

use super::Changed;
use crate::failure::Exit;
use crate::output::Output;

/// Lets the execution go on.
pub(crate) async fn run(one: &Changed, output: Output) -> anyhow::Result<Exit> {
    one.ask("resume", output).await
}
