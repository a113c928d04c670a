//! `sprag exec replay`.

use serde_json::{Value, json};

use crate::commands::one::One;
use crate::failure::Exit;
use crate::output::{Output, plain};

/// Takes every step again; a difference is a failure.
pub(crate) async fn run(one: &One, output: Output) -> anyhow::Result<Exit> {
    let client = one.remote.client()?;
    let id = client.execution_id(&one.id).await?;
    let replayed = client
        .post(&["executions", &id, "replay"])
        .json(&json!({}))
        .send()
        .await?;
    let agrees = replayed["agrees"] == Value::Bool(true);
    output.show(&replayed, |replayed| {
        let steps = &replayed["steps"];
        if agrees {
            return format!("{steps} steps taken again lead to what is stored\n");
        }
        format!(
            "differs: {}\n",
            plain(
                replayed["difference"]
                    .as_str()
                    .unwrap_or("the server does not say where")
            )
        )
    })?;
    Ok(if agrees { Exit::Done } else { Exit::Failed })
}
