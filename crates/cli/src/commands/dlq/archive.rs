//! `sprag dlq archive`.

use serde_json::json;

use super::Changed;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Puts the dead letter away.
pub(crate) async fn run(changed: &Changed, output: Output) -> anyhow::Result<Exit> {
    let Changed { one, once } = changed;
    let client = one.remote.client()?;
    let action = client
        .post(&["dead-letters", &one.id, "archive"])
        .json(&json!({}))
        .once(once)
        .send()
        .await?;
    output.show(&action, output::action)?;
    Ok(Exit::Done)
}
