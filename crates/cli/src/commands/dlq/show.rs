//! `sprag dlq show`.

use super::One;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Shows the dead letter.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let action = client.get(&["dead-letters", &one.id]).send().await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}
