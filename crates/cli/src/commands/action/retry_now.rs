//! `sprag action retry-now`.

use super::Changed;
use crate::failure::Exit;
use crate::output::Output;

/// Makes the action due now.
pub(crate) async fn run(one: &Changed, output: Output) -> anyhow::Result<Exit> {
    one.ask("retry-now", output).await
}
