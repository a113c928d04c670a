//! Workflows: propose, show, decide, cancel, resume; and what waits for a person.

use std::fmt;
use std::str::FromStr;

use axum::extract::State;
use serde_json::{Map, Value};
use sprag_core::access::Caller;
use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::operation::WorkflowStatus;
use sprag_engine::requests::operations::WorkflowChanged;
use sprag_engine::requests::{Approve, CancelWorkflow, Reject, Replied, Revoke};
use sprag_store::Page as StorePage;
use sprag_store::traits::{PlanQuery, WaitingPlan};
use sprag_wire as wire;

use crate::app::App;
use crate::handlers::reply::{Answer, created, ok};
use crate::request::body::{Body, Empty, Fields, FromFields, NoFields};
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// A comment or reason has at most so many characters.
const WORDS_CHARACTERS_MAX: usize = 1_000;

/// What is proposed, as it was sent: the catalog decides what it may hold.
pub(crate) struct Proposed(Map<String, Value>);

impl FromFields for Proposed {
    type Shape = wire::Proposal;

    const KNOWN: &'static [&'static str] = &[
        "operation",
        "params",
        "name",
        "description",
        "reason",
        "ticket",
        "urgency",
        "onFailure",
        "supersedes",
        "delay",
        "scheduledAt",
        "steps",
    ];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        let given = Self::KNOWN
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), fields.value(name)?)));
        Self(given.collect())
    }
}

/// An approval.
pub(crate) struct Approved {
    digest: String,
    comment: Option<String>,
}

impl FromFields for Approved {
    type Shape = wire::ApproveRequest;

    const KNOWN: &'static [&'static str] = &["digest", "comment"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self {
            digest: fields.required_text("digest"),
            comment: fields.text("comment"),
        }
    }
}

/// Why somebody decides against a plan.
pub(crate) struct Commented(String);

impl FromFields for Commented {
    type Shape = wire::CommentRequest;

    const KNOWN: &'static [&'static str] = &["comment"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self(words(fields, "comment"))
    }
}

/// Why somebody ends or continues a workflow.
pub(crate) struct Reasoned(String);

impl FromFields for Reasoned {
    type Shape = wire::ReasonRequest;

    const KNOWN: &'static [&'static str] = &["reason"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self(words(fields, "reason"))
    }
}

/// A text of people's that must say something.
fn words(fields: &mut Fields, name: &str) -> String {
    let is_given = fields.has(name);
    let text = fields.required_text(name);
    if is_given && (text.trim().is_empty() || text.chars().count() > WORDS_CHARACTERS_MAX) {
        let detail = format!("`{name}` has from 1 to {WORDS_CHARACTERS_MAX} characters; say why");
        fields.refuse(&format!("/{name}"), &detail);
    }
    text
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
    Body(NoFields): Body<NoFields>,
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
    Body(Approved { digest, comment }): Body<Approved>,
) -> Answer {
    let caller = Box::new(Caller::clone(&once.asker.caller));
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
    Body(Commented(comment)): Body<Commented>,
) -> Answer {
    let caller = Box::new(Caller::clone(&once.asker.caller));
    shown(&app, once.ask(Reject { id, comment, caller }).await).await
}

/// `POST /v1/workflows/{id}/revoke`
pub(crate) async fn revoke(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Commented(comment)): Body<Commented>,
) -> Answer {
    let caller = Box::new(Caller::clone(&once.asker.caller));
    shown(&app, once.ask(Revoke { id, comment, caller }).await).await
}

/// `POST /v1/workflows/{id}/cancel`
pub(crate) async fn cancel(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Reasoned(reason)): Body<Reasoned>,
) -> Answer {
    let caller = Box::new(Caller::clone(&once.asker.caller));
    shown(&app, once.ask(CancelWorkflow { id, reason, caller }).await).await
}

/// `POST /v1/workflows/{id}/resume`
pub(crate) async fn resume(
    State(app): State<App>,
    Id(id): Id<WorkflowId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Reasoned(reason)): Body<Reasoned>,
) -> Answer {
    let replied = once.engine.operations().resume_workflow(id, reason, &once.asker).await;
    shown(&app, replied).await
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
