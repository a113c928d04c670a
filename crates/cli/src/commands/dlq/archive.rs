//! `sprag dlq archive`.

use serde_json::json;

use super::One;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Puts the dead letter away.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let action = client
        .post(&["dead-letters", &one.id, "archive"])
        .json(&json!({}))
        .send()
        .await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}
