//! Workflows: propose, show, decide, cancel, resume; and what waits for a person.

use std::fmt;
use std::str::FromStr;

use axum::extract::State;
use serde_json::{Map, Value};
use sprag_core::access::Caller;
use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::operation::WorkflowStatus;
use sprag_engine::requests::operations::WorkflowChanged;
use sprag_engine::requests::{self, Approve, CancelWorkflow, Reject, Replied, Revoke};
use sprag_store::Page as StorePage;
use sprag_store::traits::{PlanQuery, WaitingPlan};
use sprag_wire as wire;

use super::executions;
use crate::access::rule::{APPROVER, OPERATOR, OPERATOR_OR_PROPOSER, PROPOSER, VIEWER};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::reply::{Answer, created, ok};
use crate::openapi::{Operation, Route, Shape, at, text, words};
use crate::request::body::{Body, Fields, FromFields, NoFields};
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "workflows";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one workflow.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<WorkflowId>(), "The workflow's id.")
        .reads()
        .refuses([requests::Code::WorkflowUnknown])
}

/// What changes one workflow.
fn change<B: FromFields>(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .body::<B>()
        .answers::<wire::Workflow>(200, "The workflow.")
        .writes()
        .once()
        .refuses([requests::Code::RoleMissing, requests::Code::StatusConflict])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/executions/{id}/compensate")
            .post(OPERATOR, compensate)
            .is(compensate_operation())
            .about(Target::Execution),
        at("/v1/workflows")
            .get(VIEWER, list)
            .is(list_operation())
            .post(PROPOSER, propose)
            .is(propose_operation())
            .about(Target::Handler),
        at("/v1/workflows/{id}")
            .get(VIEWER, show)
            .is(one("showWorkflow", "Show a workflow with its steps").answers::<wire::Workflow>(200, "The workflow.")),
        at("/v1/workflows/{id}/plan").get(VIEWER, plan).is(one(
            "showPlan",
            "Show the exact plan, and what differs from the last run",
        )
        .answers::<wire::WorkflowPlan>(200, "The plan.")),
        at("/v1/workflows/{id}/approve")
            .post(APPROVER, approve)
            .is(
                change::<wire::ApproveRequest>("approveWorkflow", "Approve the plan with this digest").refuses([
                    requests::Code::PlanChanged,
                    requests::Code::SelfApproval,
                    requests::Code::ApprovalExpired,
                    requests::Code::DecisionFailed,
                ]),
            ),
        at("/v1/workflows/{id}/reject")
            .post(APPROVER, reject)
            .is(change::<wire::CommentRequest>("rejectWorkflow", "Reject a plan")),
        at("/v1/workflows/{id}/revoke")
            .post(APPROVER, revoke)
            .is(change::<wire::CommentRequest>(
                "revokeApproval",
                "Revoke an approval: what has not begun does not begin",
            )),
        at("/v1/workflows/{id}/cancel")
            .post(OPERATOR_OR_PROPOSER, cancel)
            .is(change::<wire::ReasonRequest>(
                "cancelWorkflow",
                "Cancel a workflow with every step that has not ended",
            ))
            .about(Target::Handler),
        at("/v1/workflows/{id}/resume")
            .post(OPERATOR, resume)
            .is(change::<wire::ReasonRequest>(
                "resumeWorkflow",
                "Continue a failed workflow from the steps that failed",
            )
            .refuses([requests::Code::ApprovalMissing, requests::Code::ApprovalExpired])),
        at("/v1/approvals").get(VIEWER, waiting).is(operation(
            "listApprovals",
            "List the plans that wait for a person, most urgent first",
        )
        .paged()
        .answers::<wire::Page<wire::Workflow>>(200, "The workflows.")
        .reads()),
    ]
}

fn compensate_operation() -> Operation {
    executions::one(executions::operation(
        "compensateExecution",
        "Take back what a closed execution did: propose its compensations as a workflow",
    ))
    .body::<NoFields>()
    .answers::<wire::Workflow>(201, "The new workflow: it waits for approval, or runs.")
    .located()
    .answers::<wire::Workflow>(200, "The workflow that takes it back already. Nothing changed.")
    .writes()
    .once()
    .audited()
    .refuses([requests::Code::StatusConflict, requests::Code::DecisionFailed])
}

fn list_operation() -> Operation {
    operation("listWorkflows", "List workflows, newest first")
        .query(
            "status",
            words(&WorkflowStatus::ALL.map(WorkflowStatus::word)),
            "Only workflows with this status.",
        )
        .query("proposer", text(), "Only workflows that this principal proposed.")
        .query("ticket", text(), "Only workflows with this reference.")
        .query("name", text(), "Only workflows of this name or operation.")
        .paged()
        .answers::<wire::Page<wire::Workflow>>(200, "The workflows.")
        .reads()
}

fn propose_operation() -> Operation {
    operation(
        "proposeWorkflow",
        "Propose an operation, or a workflow of several steps",
    )
    .body::<Proposed>()
    .answers::<wire::Workflow>(201, "The new workflow: it waits for approval, or runs.")
    .located()
    .answers::<wire::Workflow>(200, "The open workflow that does the same. Nothing changed.")
    .writes()
    .once()
    .refuses([
        requests::Code::DefinitionInvalid,
        requests::Code::ProposalsFull,
        requests::Code::RoleMissing,
        requests::Code::DecisionFailed,
    ])
}

/// What is proposed, as it was sent: the catalog decides what it may hold.
pub(crate) struct Proposed(Map<String, Value>);

impl FromFields for Proposed {
    type Shape = wire::Proposal;

    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.given()))
    }
}

pub(crate) struct ListParams {
    query: PlanQuery,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["status", "proposer", "ticket", "name", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            query: PlanQuery {
                status: params.word("status", &WorkflowStatus::ALL, WorkflowStatus::word),
                proposer: params.text("proposer"),
                ticket: params.text("ticket"),
                name: params.text("name"),
                ..PlanQuery::default()
            },
            page: params.page("workflows"),
        }
    }
}

/// `GET /v1/workflows`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { query, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let query = PlanQuery {
        page: StorePage::new(after, page.limit()),
        ..query
    };
    let found = app.engine.operations().workflows(query, rows.writer()).await?;
    Ok(page.answer(&rows, found.next, room))
}

/// The place of a plan among those that wait, as a cursor holds it.
struct Place(WaitingPlan);

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitingPlan { urgency, plan } = self.0;
        write!(formatter, "{urgency} {plan}")
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (urgency, plan) = text.split_once(' ').ok_or(())?;
        Ok(Self(WaitingPlan {
            urgency: urgency.parse().map_err(drop)?,
            plan: plan.parse().map_err(drop)?,
        }))
    }
}

pub(crate) struct WaitingParams(Page);

impl FromParams for WaitingParams {
    const KNOWN: &'static [&'static str] = &["limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("approvals"))
    }
}

/// `GET /v1/approvals`: what waits for a person, most urgent first.
pub(crate) async fn waiting(State(app): State<App>, Query(WaitingParams(page)): Query<WaitingParams>) -> Answer {
    let after = page.after::<Place>()?.map(|Place(place)| place);
    let (room, rows) = (app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .operations()
        .approvals(StorePage::new(after, page.limit()), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next.map(Place), room))
}

/// `POST /v1/workflows`: a plan that waits for approval, or that runs already.
pub(crate) async fn propose(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Proposed(body)): Body<Proposed>,
) -> Answer {
    let replied = once.engine.operations().propose(Value::Object(body), &once.asker).await;
    shown(&app, replied).await
}

/// `POST /v1/executions/{id}/compensate`: the workflow that takes back what a closed execution did.
pub(crate) async fn compensate(
    State(app): State<App>,
    Id(id): Id<ExecutionId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(NoFields {}): Body<NoFields>,
) -> Answer {
    let replied = once.engine.operations().compensate(id, &once.asker).await;
    shown(&app, replied).await
}

/// `GET /v1/workflows/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<WorkflowId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.operations().workflow(id).await?))
}

/// `GET /v1/workflows/{id}/plan`
pub(crate) async fn plan(State(app): State<App>, Id(id): Id<WorkflowId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.operations().workflow_plan(id).await?))
}

/// `POST /v1/workflows/{id}/approve`
pub(crate) async fn approve(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(wire::ApproveRequest { digest, comment }): Body<wire::ApproveRequest>,
) -> Answer {
    let caller = caller_of(&once);
    let request = Approve {
        id,
        digest,
        comment,
        caller,
    };
    shown(&app, once.ask(request).await).await
}

/// `POST /v1/workflows/{id}/reject`
pub(crate) async fn reject(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(wire::CommentRequest { comment }): Body<wire::CommentRequest>,
) -> Answer {
    let caller = caller_of(&once);
    shown(&app, once.ask(Reject { id, comment, caller }).await).await
}

/// `POST /v1/workflows/{id}/revoke`
pub(crate) async fn revoke(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(wire::CommentRequest { comment }): Body<wire::CommentRequest>,
) -> Answer {
    let caller = caller_of(&once);
    shown(&app, once.ask(Revoke { id, comment, caller }).await).await
}

/// `POST /v1/workflows/{id}/cancel`
pub(crate) async fn cancel(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(wire::ReasonRequest { reason }): Body<wire::ReasonRequest>,
) -> Answer {
    let caller = caller_of(&once);
    shown(&app, once.ask(CancelWorkflow { id, reason, caller }).await).await
}

/// `POST /v1/workflows/{id}/resume`
pub(crate) async fn resume(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(wire::ReasonRequest { reason }): Body<wire::ReasonRequest>,
) -> Answer {
    let replied = once.engine.operations().resume_workflow(id, reason, &once.asker).await;
    shown(&app, replied).await
}

/// The caller, as decisions about a workflow take it.
fn caller_of(once: &Once) -> Box<Caller> {
    Box::new(Caller::clone(&once.asker.caller))
}

/// The workflow that a request was about, as it is now.
async fn shown(app: &App, replied: Replied<WorkflowChanged>) -> Answer {
    let Replied { answer, replayed } = replied;
    let (is_new, answer) = match answer {
        Ok(changed) => (changed.created, Ok(app.engine.operations().workflow(changed.id).await?)),
        Err(refusal) => (false, Err(refusal)),
    };
    Ok(answered(Replied { answer, replayed }, |view: wire::Workflow| {
        if is_new {
            created(format!("/v1/workflows/{}", view.id), &view)
        } else {
            ok(&view)
        }
    }))
}
