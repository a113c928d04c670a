//! Actions: list, show with what holds them, retry now, cancel.

use axum::extract::State;
use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_store::traits::ActionQuery;

use super::explain::explained;
use crate::app::App;
use crate::body::{Body, NoFields};
use crate::once::{Once, answered};
use crate::path::Id;
use crate::query::{FromParams, Nothing, Page, Params, Query};
use crate::reply::{Answer, ok, whole};

pub(crate) struct ListParams {
    execution: Option<ExecutionId>,
    machine: Option<String>,
    action_id: Option<String>,
    kind: Option<String>,
    status: Option<Status>,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &[
        "executionId",
        "machine",
        "actionId",
        "type",
        "status",
        "limit",
        "cursor",
    ];

    fn read(params: &mut Params) -> Self {
        Self {
            execution: params.id("executionId"),
            machine: params.text("machine"),
            action_id: params.text("actionId"),
            kind: params.text("type"),
            status: params.word("status", &Status::ALL, Status::word),
            page: params.page("actions"),
        }
    }
}

/// `GET /v1/actions`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams {
        execution,
        machine,
        action_id,
        kind,
        status,
        page,
    } = params;
    let query = ActionQuery {
        execution,
        machine,
        action_id,
        kind,
        status: status.map(Status::number),
        error_kind: None,
        before: page.after()?,
        limit: page.wanted(),
    };
    let views = app.engine.actions(query).await?;
    Ok(ok(&page.list(views, |view| view.id.to_string())))
}

/// `GET /v1/actions/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.action(id).await?;
    Ok(ok(&explained(&app.engine, view).await?))
}

/// `GET /v1/actions/queue`: what waits and what runs, by line.
pub(crate) async fn queue(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(whole(app.engine.queue().await?))
}

/// `POST /v1/actions/{id}/retry-now`
pub(crate) async fn retry_now(
    Id(id): Id<ActionId>,
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(NoFields): Body<NoFields>,
) -> Answer {
    Ok(answered(once.retry_now(id).await, |view| ok(&view)))
}

/// `POST /v1/actions/{id}/cancel`
pub(crate) async fn cancel(
    Id(id): Id<ActionId>,
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(NoFields): Body<NoFields>,
) -> Answer {
    Ok(answered(once.cancel_action(id).await, |view| ok(&view)))
}
