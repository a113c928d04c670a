//! `sprag exec pause`.

use super::One;
use crate::failure::Exit;
use crate::output::Output;

/// Holds the execution.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    one.ask("pause", output).await
}
