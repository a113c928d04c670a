//! `sprag action retry-now`.

use super::One;
use crate::failure::Exit;
use crate::output::Output;

/// Makes the action due now.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    one.ask("retry-now", output).await
}
