//! Actions: list, show with what holds them, retry now, cancel.

use axum::extract::State;
use sprag_core::action::Status;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::read::health::Window;
use sprag_engine::requests::{self, CancelAction, RetryNow};
use sprag_wire as wire;

use super::executions::SUMMARIES;
use super::explain::explained;
use crate::access::rule::{OPERATOR, VIEWER};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, Shape, at, text, words};
use crate::request::body::NoFields;
use crate::request::once::{Change, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, View};

/// The group.
pub(crate) const RESOURCE: &str = "actions";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one action.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::Action>(200, "The action.")
        .refuses([requests::Code::ActionUnknown])
}

/// What a person does to an action.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .body::<NoFields>()
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/actions")
            .get(VIEWER, list)
            .is(operation("listActions", "List actions, newest first")
                .query("executionId", Shape::of::<ExecutionId>(), "Only of this execution.")
                .query("machine", text(), "Only of this machine.")
                .query("actionId", text(), "Only actions with this `actionId`.")
                .query("type", text(), "Only of this type.")
                .query("status", Shape::of::<wire::ActionStatus>(), "Only with this status.")
                .filtered()
                .query("view", words(&View::ALL.map(View::word)), SUMMARIES)
                .paged()
                .answers::<wire::Page<wire::ListedAction>>(200, "The actions.")
                .reads()),
        at("/v1/actions/queue").get(VIEWER, queue).is(operation(
            "showQueue",
            "Show waiting and running actions, by queue and by type",
        )
        .continued()
        .answers::<wire::Queue>(200, "The queue.")
        .reads()),
        at("/v1/actions/health").get(VIEWER, health).is(health_operation()),
        at("/v1/actions/{id}")
            .get(VIEWER, show)
            .is(one("showAction", "Show an action with its attempts")),
        at("/v1/actions/{id}/retry-now")
            .post(OPERATOR, retry_now)
            .is(change("retryActionNow", "Start a scheduled or retrying action now"))
            .about(Target::Action),
        at("/v1/actions/{id}/cancel")
            .post(OPERATOR, cancel)
            .is(change("cancelAction", "Cancel an action"))
            .about(Target::Action),
    ]
}

fn health_operation() -> Operation {
    let windows = words(&Window::ALL.map(Window::word));
    operation(
        "showActionHealth",
        "Report success rates, failures and recommendations of actions",
    )
    .query("actionId", text(), "Only actions with this `actionId`.")
    .query("window", windows, "The window of the report. Default: `1h`.")
    .answers::<wire::HealthReport>(200, "The report.")
    .reads()
}

pub(crate) struct ListParams {
    condition: Condition,
    view: View,
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
        "view",
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
            view: View::read(params),
            page: params.page("actions"),
        }
    }
}

/// `GET /v1/actions`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, view, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, view.rows());
    let (mut whole, mut short) = (rows.writer(), rows.writer());
    let write = move |row| match view {
        View::Whole => whole(row),
        View::Summary => short(wire::ActionSummary::from(row)),
    };
    let read = app.engine.read();
    let found = read.find_actions(condition, after, page.limit(), write).await?;
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
