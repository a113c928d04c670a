//! `sprag action cancel`.

use super::Changed;
use crate::failure::Exit;
use crate::output::Output;

/// Ends the action.
pub(crate) async fn run(one: &Changed, output: Output) -> anyhow::Result<Exit> {
    one.ask("cancel", output).await
}
