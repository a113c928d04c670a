//! The catalog and workflows as the API shows them.

use std::collections::BTreeMap;

use serde_json::Value;
use sprag_core::document::json;
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::operation::approval::ApprovalVerdict;
use sprag_core::operation::{
    Catalog, Document, Operation, Plan, PlanStep, StepPhase, WorkflowStatus, compare, read_stored, undo_id,
};
use sprag_store::page::continued;
use sprag_store::records::{self, CatalogKind, CatalogVersion};
use sprag_store::traits::{ActionQuery, PlanQuery, Reader, WaitingPlan};
use sprag_store::{Error, Page, Paged, ReadKind};
use sprag_wire as wire;
use sprag_wire::{ActionStatus, Waiting, WaitingFor};

use super::handle::ReadHandle;
use super::open::whole;
use crate::decide::plans::PlanState;
use crate::engine::operations::OperationsHandle;
use crate::read::view::{self, ActionView};
use crate::requests::operations::RESUMED_MAX;
use crate::requests::{Code, Refusal};

/// Actions of a workflow that are read: each step has one, and perhaps a compensation.
const ACTIONS_MAX: usize = 256;

impl OperationsHandle<'_> {
    fn reads(&self) -> &ReadHandle {
        self.0.read()
    }

    /// One workflow.
    pub async fn workflow(&self, id: WorkflowId) -> Result<wire::Workflow, Refusal> {
        let handle = self.reads().clone();
        let found = self
            .reads()
            .query(ReadKind::Point, move |reader| {
                let Some(row) = reader.plan(id)? else { return Ok(None) };
                workflow_view(&handle, reader, row).map(Some)
            })
            .await?;
        found.ok_or_else(|| unknown(id))
    }

    /// Workflows, newest first.
    pub async fn workflows<T: Send + 'static>(
        &self,
        query: PlanQuery,
        mut show: impl FnMut(wire::Workflow) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, WorkflowId>, Refusal> {
        let handle = self.reads().clone();
        self.reads()
            .query(ReadKind::Scan, move |reader| {
                let found = reader.plans(&query)?;
                let ids: Vec<WorkflowId> = found.rows.iter().map(|row| row.id).collect();
                let rows = shown(&handle, reader, found.rows, &mut show)?;
                Ok(Paged {
                    next: continued(&ids, &rows, found.next),
                    rows,
                })
            })
            .await
    }

    /// What waits for a person, most urgent first.
    pub async fn approvals<T: Send + 'static>(
        &self,
        page: Page<WaitingPlan>,
        mut show: impl FnMut(wire::Workflow) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, WaitingPlan>, Refusal> {
        let handle = self.reads().clone();
        self.reads()
            .query(ReadKind::Scan, move |reader| {
                let found = reader.waiting_plans(&page)?;
                let places: Vec<WaitingPlan> = found.rows.iter().map(WaitingPlan::of).collect();
                let rows = shown(&handle, reader, found.rows, &mut show)?;
                Ok(Paged {
                    next: continued(&places, &rows, found.next),
                    rows,
                })
            })
            .await
    }

    /// The exact plan of a workflow, and what differs from the last run of the same name.
    pub async fn workflow_plan(&self, id: WorkflowId) -> Result<wire::WorkflowPlan, Refusal> {
        let found = self
            .reads()
            .query(ReadKind::Point, move |reader| {
                let Some(row) = reader.plan(id)? else { return Ok(None) };
                let plan = plan_from(row)?;
                let last = last_run(reader, &plan)?;
                let changes = last.as_ref().map(|last| compare(&last.plan, &plan.plan));
                Ok(Some(wire::WorkflowPlan {
                    digest: json::hex(&plan.digest),
                    // A plan is texts, numbers and lists.
                    plan: serde_json::to_value(plan.plan.as_ref()).unwrap_or_default(),
                    last_run: last.map(|last| last.id),
                    changes: changes.unwrap_or_default().into_iter().map(Into::into).collect(),
                }))
            })
            .await?;
        found.ok_or_else(|| unknown(id))
    }

    /// The dead letters of a workflow's steps.
    pub async fn workflow_letters(&self, id: WorkflowId) -> Result<Vec<ActionId>, Refusal> {
        self.reads()
            .query(ReadKind::Point, move |reader| {
                let query = ActionQuery {
                    execution: Some(id.execution()),
                    status: Some(sprag_core::action::Status::Dead.number()),
                    page: Page::first(RESUMED_MAX),
                    ..ActionQuery::default()
                };
                Ok(reader.actions(&query)?.rows.into_iter().map(|row| row.id).collect())
            })
            .await
    }

    /// Entries of the catalog by name; built-in operations come first.
    pub async fn catalog<T: Send + 'static>(
        &self,
        kind: CatalogKind,
        page: Page<String>,
        mut show: impl FnMut(wire::CatalogEntry) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, String>, Refusal> {
        self.reads()
            .query(ReadKind::Scan, move |reader| {
                let found = reader.catalog(kind, &page)?;
                let names: Vec<String> = found.rows.iter().map(|row| row.name.clone()).collect();
                let mut rows = Vec::new();
                for row in found.rows {
                    let Some(shown) = show(entry_of(&row)?.0) else { break };
                    rows.push(shown);
                }
                Ok(Paged {
                    next: continued(&names, &rows, found.next),
                    rows,
                })
            })
            .await
    }

    /// The operations that every server has.
    pub fn builtin_operations() -> Vec<wire::CatalogEntry> {
        let catalog = Catalog::default();
        let all = catalog.operations();
        all.map(|versioned| operation_entry(&versioned.operation, versioned.version))
            .collect()
    }

    /// One operation in its newest version, with its document.
    pub async fn operation(&self, name: String) -> Result<wire::CatalogEntry, Refusal> {
        let builtin = Self::builtin_operations().into_iter().find(|entry| entry.id == name);
        if let Some(mut entry) = builtin {
            let catalog = Catalog::default();
            entry.definition = catalog.operation(&name).map(|found| found.operation.definition.clone());
            return Ok(entry);
        }
        let wanted = name.clone();
        let found = self
            .reads()
            .query(ReadKind::Point, move |reader| {
                let found = reader.catalog_version(CatalogKind::Operation, &wanted, None)?;
                found.as_ref().map(entry_of).transpose()
            })
            .await?;
        let Some((mut entry, definition)) = found else {
            let detail = format!("there is no operation `{name}`; apply it first");
            return Err(Refusal::new(Code::OperationUnknown, detail));
        };
        entry.definition = Some(definition);
        Ok(entry)
    }
}

fn workflow_view(handle: &ReadHandle, reader: &dyn Reader, row: records::Plan) -> Result<wire::Workflow, Error> {
    let plan = plan_from(row)?;
    let execution = if plan.is_of_action() {
        let action = reader.action(plan.id.action())?;
        action.map(|action| action.execution)
    } else {
        plan.has_started().then(|| plan.id.execution())
    };
    let ran = execution
        .map(|id| ran(handle, reader, id))
        .transpose()?
        .unwrap_or_default();
    let steps = plan
        .plan
        .steps
        .iter()
        .map(|step| step_view(handle, &plan, step, &ran))
        .collect();
    Ok(workflow(handle, &plan, execution, steps))
}

/// What is known of an execution: its configuration, and the last action of each id.
fn ran(handle: &ReadHandle, reader: &dyn Reader, id: ExecutionId) -> Result<Ran, Error> {
    let Some(state) = whole(reader, id)? else {
        return Ok(Ran::default());
    };
    let machine = handle.compiled(reader, &state)?;
    let query = ActionQuery {
        execution: Some(id),
        page: Page::first(ACTIONS_MAX),
        ..ActionQuery::default()
    };
    let mut actions = BTreeMap::new();
    // Newest first: the first of each id counts.
    for row in reader.actions(&query)?.rows {
        let view = handle.action_view(reader, row)?;
        actions.entry(view.action_id.clone()).or_insert(view);
    }
    Ok(Ran {
        configuration: machine.configuration(&state.execution.active),
        actions,
    })
}

fn step_view(handle: &ReadHandle, plan: &PlanState, step: &PlanStep, ran: &Ran) -> wire::WorkflowStep {
    let now = handle.clock.now();
    let of_action = || ran.actions.values().find(|view| WorkflowId::from(view.id) == plan.id);
    let view = ran.actions.get(&step.name).or_else(of_action);
    let waiting = match view {
        Some(view) => step_waiting(handle, plan, view),
        None => not_begun(plan, step, ran),
    };
    let action = &step.action;
    wire::WorkflowStep {
        name: step.name.clone(),
        operation: action.operation.clone(),
        version: action.version,
        risk_level: action.risk_level.into(),
        subject: action.subject.clone(),
        status: view.map_or_else(|| unstarted(plan, step, ran), |view| view.status.clone()),
        next_retry_at: match &waiting {
            Waiting::Retrying { next_at, .. } => Some(*next_at),
            _ => None,
        },
        overdue: view.is_none() && is_undecided(plan) && step.scheduled_at.is_some_and(|at| at <= now),
        waiting,
        action_id: view.map(|view| view.id),
        params: action.params.clone(),
        reason: step.reason.clone(),
        depends_on: step.depends_on.clone(),
        attempts: view
            .and_then(|view| view.attempts.last())
            .map_or(0, |attempt| attempt.number),
        result: view.and_then(|view| view.result.clone()),
        last_error: view.and_then(|view| view.last_error.clone()),
        compensation: ran.actions.get(&undo_id(&step.name)).map(|undo| wire::Compensation {
            action_id: undo.id,
            status: undo.status.clone(),
            last_error: undo.last_error.clone(),
        }),
    }
}

/// Whether a plan has the approval that it needs, in whatever time.
fn is_approved(handle: &ReadHandle, plan: &PlanState) -> bool {
    use ApprovalVerdict::{Approved, Expired, NotNeeded};
    let verdict = plan.verdict(&handle.approval, &handle.board.tokens(), handle.clock.now(), None);
    matches!(verdict, Approved { .. } | Expired | NotNeeded)
}

fn is_undecided(plan: &PlanState) -> bool {
    matches!(plan.status, WorkflowStatus::Pending | WorkflowStatus::AwaitingApproval)
}

/// What a step that has begun waits for: where it is queued, a person may be why.
fn step_waiting(handle: &ReadHandle, plan: &PlanState, view: &ActionView) -> Waiting {
    if view.waiting.is_for_permit() && !is_approved(handle, plan) {
        view::for_approval(plan)
    } else {
        view.waiting.clone()
    }
}

/// What is known of the execution of a workflow.
#[derive(Default)]
struct Ran {
    configuration: Vec<String>,
    actions: BTreeMap<String, ActionView>,
}

fn unknown(id: WorkflowId) -> Refusal {
    Refusal::new(Code::WorkflowUnknown, format!("there is no workflow `{id}`"))
}

pub(super) fn plan_from(row: records::Plan) -> Result<PlanState, Error> {
    PlanState::read(row).map_err(|error| Error::Unreadable {
        detail: error.to_string(),
    })
}

fn shown<T>(
    handle: &ReadHandle,
    reader: &dyn Reader,
    rows: Vec<records::Plan>,
    show: &mut impl FnMut(wire::Workflow) -> Option<T>,
) -> Result<Vec<T>, Error> {
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(shown) = show(workflow_view(handle, reader, row)?) else {
            break;
        };
        kept.push(shown);
    }
    Ok(kept)
}

/// The newest plan of the same name before this one that ran.
fn last_run(reader: &dyn Reader, plan: &PlanState) -> Result<Option<PlanState>, Error> {
    let query = PlanQuery {
        name: Some(plan.plan.name.clone()),
        page: Page::new(Some(plan.id), LAST_RUNS_MAX),
        ..PlanQuery::default()
    };
    for row in reader.plans(&query)?.rows {
        let before = plan_from(row)?;
        if before.has_run() {
            return Ok(Some(before));
        }
    }
    Ok(None)
}

/// Plans that are looked at for one that ran.
const LAST_RUNS_MAX: usize = 50;

fn workflow(
    handle: &ReadHandle,
    plan: &PlanState,
    execution: Option<ExecutionId>,
    steps: Vec<wire::WorkflowStep>,
) -> wire::Workflow {
    let Plan {
        name,
        description,
        reason,
        proposer,
        proposed_at,
        ticket,
        urgency,
        risk_level,
        ..
    } = plan.plan.as_ref();
    wire::Workflow {
        id: plan.id,
        name: name.clone(),
        description: description.clone(),
        status: plan.status.into(),
        digest: json::hex(&plan.digest),
        risk_level: (*risk_level).into(),
        approval: approval(handle, plan),
        steps,
        proposer: proposer.clone(),
        reason: reason.clone(),
        ticket: ticket.clone(),
        urgency: (*urgency).into(),
        decisions: decisions(plan),
        execution_id: execution,
        created_at: *proposed_at,
        updated_at: plan.updated_at,
    }
}

fn approval(handle: &ReadHandle, plan: &PlanState) -> wire::Approval {
    let verdict = plan.verdict(&handle.approval, &handle.board.tokens(), handle.clock.now(), None);
    let decisions = &plan.decided.decisions;
    let given: Vec<wire::GivenApproval> = decisions
        .standing()
        .map(|approval| wire::GivenApproval {
            by: approval.by.clone(),
            at: approval.at,
            comment: approval.comment.clone(),
            self_approval: approval.own,
        })
        .collect();
    let standing = u32::try_from(given.len()).unwrap_or(u32::MAX);
    let (required, needed, until) = match verdict {
        ApprovalVerdict::NotNeeded => (false, 0, None),
        ApprovalVerdict::Needed { more, until } => (true, standing.saturating_add(more), until),
        ApprovalVerdict::Approved { until } => (true, standing, until),
        ApprovalVerdict::Rejected
        | ApprovalVerdict::Undecided
        | ApprovalVerdict::Expired
        | ApprovalVerdict::Revoked => (true, standing.max(1), None),
    };
    wire::Approval {
        required,
        needed,
        given,
        expires_at: plan.decide_by.or(until),
    }
}

fn decisions(plan: &PlanState) -> Vec<wire::Decision> {
    let notes = plan.decided.notes.iter().map(|note| wire::Decision {
        what: note.what.clone(),
        by: note.by.clone(),
        at: note.at,
        comment: Some(note.comment.clone()).filter(|comment| !comment.is_empty()),
    });
    notes.collect()
}

/// The status of a step without an action.
fn unstarted(plan: &PlanState, step: &PlanStep, ran: &Ran) -> ActionStatus {
    let phase = StepPhase::of(&step.name, &ran.configuration);
    // Once a workflow takes back what it did, it has left its steps.
    let stopped = phase == Some(StepPhase::Stopped) || (phase.is_none() && plan.has_started());
    let is_over = !plan.status.is_open() && plan.status != WorkflowStatus::Failed;
    if stopped || is_over {
        ActionStatus::Skipped
    } else {
        ActionStatus::Scheduled
    }
}

/// What a step without an action waits for.
fn not_begun(plan: &PlanState, step: &PlanStep, ran: &Ran) -> Waiting {
    let waiting = |reason, object: String, until| Waiting::Waiting {
        reason,
        object,
        since: plan.updated_at,
        until,
    };
    match plan.status {
        WorkflowStatus::Pending | WorkflowStatus::AwaitingApproval => view::for_approval(plan),
        WorkflowStatus::InProgress | WorkflowStatus::Failed => match StepPhase::of(&step.name, &ran.configuration) {
            Some(StepPhase::Scheduled | StepPhase::Delayed) => {
                waiting(WaitingFor::Timer, step.name.clone(), step.scheduled_at)
            }
            Some(StepPhase::Waiting) => waiting(WaitingFor::Dependency, step.depends_on.join(", "), None),
            _ => Waiting::Done,
        },
        WorkflowStatus::Completed | WorkflowStatus::Cancelled | WorkflowStatus::Rejected | WorkflowStatus::Expired => {
            Waiting::Done
        }
    }
}

/// A stored document as lists show it, and the document.
fn entry_of(row: &CatalogVersion) -> Result<(wire::CatalogEntry, Value), Error> {
    let corrupt = |detail: String| Error::Unreadable {
        detail: format!("{} `{}` version {}: {detail}", row.kind.word(), row.name, row.version),
    };
    let definition: Value = serde_json::from_slice(&row.definition).map_err(|error| corrupt(error.to_string()))?;
    let document = read_stored(&definition).map_err(|error| corrupt(error.to_string()))?;
    let entry = match &document {
        Document::Operation(operation) => operation_entry(operation, row.version),
        Document::Subject(subject) => wire::CatalogEntry {
            kind: wire::CatalogKind::Subject,
            id: subject.name.clone(),
            version: row.version,
            title: subject.title.clone(),
            description: subject.description.clone(),
            risk_level: None,
            requires_approval: None,
            subject: None,
            parameters: None,
            definition: None,
            created_at: None,
        },
    };
    let entry = wire::CatalogEntry {
        created_at: Some(row.created_at),
        ..entry
    };
    Ok((entry, definition))
}

fn operation_entry(operation: &Operation, version: u32) -> wire::CatalogEntry {
    wire::CatalogEntry {
        kind: wire::CatalogKind::Operation,
        id: operation.name.clone(),
        version,
        title: operation.title.clone(),
        description: operation.description.clone(),
        risk_level: Some(operation.risk.into()),
        requires_approval: Some(operation.requires_approval),
        subject: operation.subject.clone(),
        parameters: Some(operation.parameters.schema(&operation.secrets)),
        definition: None,
        created_at: None,
    }
}
