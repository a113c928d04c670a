//! `sprag exec replay`.

use serde_json::json;
use sprag_wire::Replayed;

use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::{Output, plain, read};

/// Takes every step again; a difference is a failure.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let id = client.execution_id(&one.id).await?;
    let replayed = client
        .post(&["executions", &id, "replay"])
        .json(&json!({}))
        .send()
        .await?;
    output.show(&replayed, text)?;
    let Replayed { agrees, .. } = read(replayed)?;
    Ok(if agrees { Exit::Done } else { Exit::Failed })
}

fn text(replayed: &Replayed) -> String {
    if replayed.agrees {
        return format!(
            "{} steps replayed; the result equals the stored state\n",
            replayed.steps
        );
    }
    let difference = replayed.difference.as_deref();
    format!(
        "differs: {}\n",
        plain(difference.unwrap_or("the server does not say where"))
    )
}
