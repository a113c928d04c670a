//! `sprag job pause`, `resume` and `cancel`.

use serde_json::json;

use super::One;
use crate::failure::Exit;
use crate::output::{self, Output};

/// Asks for `verb` to be done to the job.
pub(crate) async fn run(one: &One, verb: &str, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let request = client.post(&["jobs", &one.id, verb]).json(&json!({}));
    let job = request.once(&one.once).send().await?;
    output.show(&job, output::job)?;
    Ok(Exit::Done)
}
