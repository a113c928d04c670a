//! `sprag dlq show`.

use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Shows the case file of the dead letter.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let id = client.action_id(&one.id).await?;
    let file = client.get(&["dead-letters", &id]).send().await?;
    output.show(&file, output::case_file)?;
    Ok(Exit::Done)
}
