//! `sprag action show`.

use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Shows the action.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let id = client.action_id(&one.id).await?;
    let action = client.get(&["actions", &id]).send().await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}
