//! A workflow as an agent sees it: what it waits for, and what to call next.

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use sprag_wire::{ActionStatus, Waiting, Workflow, WorkflowStatus};

use super::readers::Reader;
use super::result::{Refused, result};
use crate::output;

/// The result of a call that proposed a workflow or asked about it.
pub(super) fn shown(document: Value) -> Result<CallToolResult, Refused> {
    let workflow: Workflow = output::read(document.clone())?;
    let (id, status) = (workflow.id, workflow.status.word());
    let sentence = match &workflow.status {
        WorkflowStatus::AwaitingApproval => format!("Workflow {id} waits for the approval of a person."),
        WorkflowStatus::Other(_) => format!("Workflow {id} has a status that this version of Sprag does not know."),
        _ => format!("Workflow {id} is {status}."),
    };
    let mut shown = json!({
        "id": id,
        "status": status,
        "digest": workflow.digest,
        "waitsFor": waits_for(&workflow),
        "next": next(&workflow),
    });
    if let (Value::Object(shown), Value::Object(document)) = (&mut shown, document) {
        shown.extend(document);
    }
    Ok(result(&sentence, shown))
}

/// What it waits for, in words.
fn waits_for(workflow: &Workflow) -> String {
    match &workflow.status {
        WorkflowStatus::Pending | WorkflowStatus::AwaitingApproval => {
            let (given, needed) = (workflow.approval.given.len(), workflow.approval.needed);
            format!("approval: {given} of {needed} given")
        }
        WorkflowStatus::InProgress | WorkflowStatus::Failed => {
            let open = workflow
                .steps
                .iter()
                .find(|step| !matches!(step.waiting, Waiting::Done));
            open.map_or_else(
                || "a person: a step failed".to_owned(),
                |step| format!("step {}: {}", step.name, output::waiting(step)),
            )
        }
        _ => "nothing: it has ended".to_owned(),
    }
}

/// The calls that show more.
fn next(workflow: &Workflow) -> Vec<Value> {
    let call = |reader: Reader, id: String| json!({"tool": reader.name(), "arguments": {"id": id}});
    let is_open = matches!(
        workflow.status,
        WorkflowStatus::Pending | WorkflowStatus::AwaitingApproval | WorkflowStatus::InProgress
    );
    let status = is_open.then(|| call(Reader::WorkflowStatus, workflow.id.to_string()));
    let dead = workflow.steps.iter().filter(|step| step.status == ActionStatus::Dead);
    let cases = dead.filter_map(|step| Some(call(Reader::DeadLetterCase, step.action_id?.to_string())));
    status.into_iter().chain(cases).collect()
}
