//! The catalog and workflows as text.

use sprag_wire::{CatalogEntry, Page, Waiting, Workflow, WorkflowStep};

use super::table::Table;
use super::views::{dash, instant, list};

/// Entries of the catalog, one a line.
pub(crate) fn operations(page: &Page<CatalogEntry>) -> String {
    let headings = ["NAME", "KIND", "VERSION", "RISK", "APPROVAL", "SUBJECT", "TITLE"];
    let table = Table::new(&headings).optional(&["TITLE", "SUBJECT", "KIND"]);
    list(&page.data, table, |entry| {
        let approval = entry.requires_approval.map(|is| if is { "always" } else { "by risk" });
        vec![
            entry.id.clone(),
            entry.kind.to_string(),
            entry.version.to_string(),
            dash(entry.risk_level.as_ref()),
            dash(approval.as_ref()),
            dash(entry.subject.as_ref()),
            dash(entry.title.as_ref()),
        ]
    })
}

/// One operation, with its document.
pub(crate) fn operation(entry: &CatalogEntry) -> String {
    let mut table = Table::bare();
    table.pair("name", &entry.id);
    table.pair("version", entry.version.to_string());
    table.pair("title", dash(entry.title.as_ref()));
    table.pair("description", dash(entry.description.as_ref()));
    table.pair("riskLevel", dash(entry.risk_level.as_ref()));
    table.pair("subject", dash(entry.subject.as_ref()));
    let definition = entry.definition.as_ref().map(|definition| format!("{definition:#}\n"));
    format!("{}{}", table.text(), definition.unwrap_or_default())
}

/// Workflows, one a line.
pub(crate) fn workflows(page: &Page<Workflow>) -> String {
    let headings = [
        "ID", "STATUS", "NAME", "RISK", "URGENCY", "PROPOSER", "CREATED", "REASON",
    ];
    let table = Table::new(&headings).optional(&["REASON", "CREATED", "URGENCY"]);
    list(&page.data, table, |workflow| {
        vec![
            workflow.id.to_string(),
            workflow.status.word().to_owned(),
            workflow.name.clone(),
            workflow.risk_level.to_string(),
            workflow.urgency.word().to_owned(),
            workflow.proposer.clone(),
            instant(workflow.created_at),
            workflow.reason.clone(),
        ]
    })
}

/// One workflow with its steps.
pub(crate) fn workflow(workflow: &Workflow) -> String {
    let mut table = Table::bare();
    table.pair("id", workflow.id.to_string());
    table.pair("name", &workflow.name);
    table.pair("status", workflow.status.word());
    table.pair("riskLevel", workflow.risk_level.to_string());
    table.pair("reason", &workflow.reason);
    table.pair("proposer", &workflow.proposer);
    table.pair("ticket", dash(workflow.ticket.as_ref()));
    table.pair("approval", approval(workflow));
    if let Some(expires_at) = workflow.approval.expires_at {
        table.pair("expiresAt", expires_at.to_string());
    }
    for decision in &workflow.decisions {
        let comment = dash(decision.comment.as_ref());
        table.pair(
            &decision.what,
            format!("by {} at {}: {comment}", decision.by, decision.at),
        );
    }
    table.pair("digest", &workflow.digest);
    let mut steps = Table::new(&["STEP", "OPERATION", "STATUS", "WAITING", "ATTEMPTS"]).optional(&["ATTEMPTS"]);
    for step in &workflow.steps {
        steps.row(step_row(step));
        steps_back(&mut steps, step);
    }
    format!("{}\n{}", table.text(), steps.text())
}

fn approval(workflow: &Workflow) -> String {
    let approval = &workflow.approval;
    if !approval.required {
        return "not needed".to_owned();
    }
    let given: Vec<String> = approval
        .given
        .iter()
        .map(|given| {
            let own = if given.self_approval { " (proposed it too)" } else { "" };
            format!("{}{own}", given.by)
        })
        .collect();
    let by = if given.is_empty() {
        String::new()
    } else {
        format!(": {}", given.join(", "))
    };
    format!("{} of {}{by}", given.len(), approval.needed)
}

/// What a step waits for, in few words.
pub(crate) fn waiting(step: &WorkflowStep) -> String {
    match &step.waiting {
        Waiting::Waiting { reason, object, .. } if step.overdue => format!("{reason} {object}, overdue"),
        Waiting::Waiting { reason, object, .. } => format!("{reason} {object}"),
        Waiting::Retrying { next_at, error, .. } => format!("retry at {next_at} after {error}"),
        Waiting::Running { .. } => "running".to_owned(),
        Waiting::Done | Waiting::Other(_) => "-".to_owned(),
    }
}

fn step_row(step: &WorkflowStep) -> [String; 5] {
    [
        step.name.clone(),
        format!("{} version {}", step.operation, step.version),
        step.status.to_string(),
        waiting(step),
        step.attempts.to_string(),
    ]
}

/// What takes a step back, below it.
fn steps_back(steps: &mut Table, step: &WorkflowStep) {
    if let Some(back) = &step.compensation {
        let error = back.last_error.as_ref().map(|error| error.kind.clone());
        let name = format!("{} (taken back)", step.name);
        steps.row([
            name,
            back.action_id.to_string(),
            back.status.to_string(),
            dash(error.as_ref()),
            String::new(),
        ]);
    }
}
