//! `sprag action cancel`.

use super::One;
use crate::failure::Exit;
use crate::output::Output;

/// Ends the action.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    one.ask("cancel", output).await
}
