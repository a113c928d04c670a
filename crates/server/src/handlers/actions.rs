//! Actions: list, show with what holds them, retry now, cancel.

use axum::extract::State;
use sprag_core::action::Status;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::read::health::Window;
use sprag_engine::requests::{CancelAction, RetryNow};

use super::explain::explained;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::request::once::{Change, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

pub(crate) struct ListParams {
    condition: Condition,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &[
        "executionId",
        "machine",
        "actionId",
        "type",
        "status",
        "filter",
        "limit",
        "cursor",
    ];

    fn read(params: &mut Params) -> Self {
        let execution: Option<ExecutionId> = params.id("executionId");
        let status = params.word("status", &Status::ALL, Status::word);
        let given = [
            execution.map(|id| Condition::id(Field::ExecutionId, id.to_bytes())),
            params.condition("machine", Field::Machine),
            params.condition("actionId", Field::ActionId),
            params.condition("type", Field::Type),
            status.map(|status| Condition::number(Field::Status, status.number())),
        ];
        let filter = params.filter(Resource::Actions);
        Self {
            condition: given.into_iter().flatten().fold(filter, Condition::and),
            page: params.page("actions"),
        }
    }
}

/// `GET /v1/actions`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .read()
        .find_actions(condition, after, page.limit(), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/actions/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.read().action(id).await?;
    Ok(ok(&explained(&app.engine, view).await))
}

/// Where the lines of the queue continue.
pub(crate) struct QueueParams(Page);

impl FromParams for QueueParams {
    const KNOWN: &'static [&'static str] = &["cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("queue"))
    }
}

/// `GET /v1/actions/queue`: how much waits, since when, what runs, and what holds it back, by line and by type.
pub(crate) async fn queue(State(app): State<App>, Query(QueueParams(page)): Query<QueueParams>) -> Answer {
    let mut queue = app.engine.operate().queue().await?;
    let part = page.part(queue.data)?;
    (queue.data, queue.next_cursor) = (part.data, part.next_cursor);
    Ok(ok(&queue))
}

pub(crate) struct HealthParams {
    action_id: Option<String>,
    window: Window,
}

impl FromParams for HealthParams {
    const KNOWN: &'static [&'static str] = &["actionId", "window"];

    fn read(params: &mut Params) -> Self {
        Self {
            action_id: params.text("actionId"),
            window: params.word("window", &Window::ALL, Window::word).unwrap_or_default(),
        }
    }
}

/// `GET /v1/actions/health`: figures over a window, what failed, what could be changed.
pub(crate) async fn health(State(app): State<App>, Query(params): Query<HealthParams>) -> Answer {
    let HealthParams { action_id, window } = params;
    Ok(ok(&app.engine.read().health(action_id, window).await?))
}

/// `POST /v1/actions/{id}/retry-now`
pub(crate) async fn retry_now(Change { id, once, .. }: Change<ActionId>) -> Answer {
    Ok(answered(once.ask(RetryNow(id)).await, |view| ok(&view)))
}

/// `POST /v1/actions/{id}/cancel`
pub(crate) async fn cancel(Change { id, once, .. }: Change<ActionId>) -> Answer {
    Ok(answered(once.ask(CancelAction(id)).await, |view| ok(&view)))
}
