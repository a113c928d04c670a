//! `sprag workflow show`: how it stands, the exact plan, and what differs from the last run.

use serde_json::json;
use sprag_wire::{Workflow, WorkflowPlan};

use crate::client::Remote;
use crate::failure::Exit;
use crate::output::{self, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the workflow
    id: String,
    #[command(flatten)]
    remote: Remote,
}

#[derive(serde::Deserialize)]
struct Shown {
    workflow: Workflow,
    plan: WorkflowPlan,
}

/// Shows the workflow with its plan. JSON has both: `workflow` and `plan`.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { id, remote } = arguments;
    let client = remote.client()?;
    let workflow = client.get(&["workflows", id]).send().await?;
    let plan = client.get(&["workflows", id, "plan"]).send().await?;
    let document = json!({"workflow": workflow, "plan": plan});
    output.show(&document, |shown: &Shown| {
        format!(
            "{}\n{}",
            output::workflow(&shown.workflow),
            output::plan(&shown.workflow, &shown.plan)
        )
    })?;
    Ok(Exit::Done)
}
