//! `sprag exec explain`.

use crate::commands::explain;
use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::Output;

/// Says why the execution is not moving.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    explain::execution(&one.remote.client()?, &one.id, output).await
}
