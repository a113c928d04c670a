//! `sprag exec pause`.

use super::Changed;
use crate::failure::Exit;
use crate::output::Output;

/// Holds the execution.
pub(crate) async fn run(one: &Changed, output: Output) -> anyhow::Result<Exit> {
    one.ask("pause", output).await
}
