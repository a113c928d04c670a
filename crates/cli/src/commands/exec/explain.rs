//! `sprag exec explain`.

use crate::commands::explain;
use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::Output;

/// Says why the execution is not moving.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let id = client.execution_id(&one.id).await?;
    explain::execution(&client, &id, output).await
}
