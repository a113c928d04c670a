//! Executions: start, show, and what people do to them.

use std::time::Duration;

use axum::extract::State;
use sprag_core::access::ScopeKind;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::{ExecutionId, ParseIdError};
use sprag_engine::requests::{self, Cancel, Migrate, Pause, Replied, Resume};
use sprag_store::records::ExecutionStatus;
use sprag_wire::{self as wire, Start};

use super::explain;
use crate::access::rule::{OPERATOR, OPERATOR_OR_AUTHOR, VIEWER};
use crate::access::scope::{Asker, Target};
use crate::app::App;
use crate::handlers::reply::{Answer, created, ok};
use crate::nodes::owner::{self, OwnerFirst};
use crate::openapi::{Operation, Route, Shape, at, text, whole, words};
use crate::problem::shown::shown;
use crate::problem::{Code, Problem};
use crate::request::body::{Body, NoFields};
use crate::request::once::{Change, Once, answered};
use crate::request::path::{Id, Path};
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows, View, Wait};

/// The group.
pub(crate) const RESOURCE: &str = "executions";

/// What `view` of a list does.
pub(super) const SUMMARIES: &str =
    "With `summary`: rows without variables, results and attempts. A page then has at most 200 kB. Default: `whole`.";

pub(super) fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one execution.
pub(super) fn one(operation: Operation) -> Operation {
    operation
        .path("id", Shape::of::<ExecutionId>(), "The execution's id.")
        .reads()
        .refuses([requests::Code::ExecutionUnknown])
}

/// What a person does to an execution.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(operation(id, summary))
        .body::<NoFields>()
        .answers::<wire::Execution>(200, "The execution after the change.")
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict, requests::Code::ExecutionClosed])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/executions")
            .get(VIEWER, list)
            .is(list_operation())
            .post(OPERATOR, start)
            .is(start_operation())
            .about(Target::Handler),
        at("/v1/executions/{id}")
            .get(VIEWER, show)
            .is(one(operation("showExecution", "Show an execution"))
                .waits()
                .answers::<wire::Execution>(200, "The execution."))
            .owner_first(OwnerFirst::Watched(owner::awaited_execution)),
        at("/v1/executions/{id}/history")
            .get(VIEWER, history)
            .is(history_operation()),
        at("/v1/executions/{id}/at/{sequence}")
            .get(VIEWER, at_entry)
            .is(one(operation(
                "showExecutionAt",
                "Show an execution as it was after one of its history entries",
            ))
            .path("sequence", whole(1), "The sequence of the entry.")
            .answers::<wire::ExecutionAt>(200, "The states and variables after the entry, and what it changed.")),
        at("/v1/executions/{id}/explain")
            .get(VIEWER, explain)
            .is(
                one(operation("explainExecution", "Explain what an execution waits for"))
                    .answers::<wire::Explanation>(200, "What the execution and each of its open actions wait for."),
            )
            .owner_first(OwnerFirst::Explained(owner::execution)),
        at("/v1/executions/{id}/replay")
            .post(OPERATOR_OR_AUTHOR, replay)
            .is(one(operation(
                "replayExecution",
                "Replay the history of an execution and compare the result with the store",
            ))
            .body::<NoFields>()
            .answers::<wire::Replayed>(200, "The result of the replay.")
            .changes_nothing())
            .about(Target::Execution),
        at("/v1/executions/{id}/cancel")
            .post(OPERATOR, cancel)
            .is(change("cancelExecution", "Cancel an execution and its open actions"))
            .about(Target::Execution),
        at("/v1/executions/{id}/pause")
            .post(OPERATOR, pause)
            .is(change(
                "pauseExecution",
                "Pause an execution: messages wait, and no action starts",
            ))
            .about(Target::Execution),
        at("/v1/executions/{id}/resume")
            .post(OPERATOR, resume)
            .is(change("resumeExecution", "Continue after a pause or a failure"))
            .about(Target::Execution),
        at("/v1/executions/{id}/migrate")
            .post(OPERATOR, migrate)
            .is(migrate_operation())
            .about(Target::Execution),
    ]
}

fn history_operation() -> Operation {
    one(operation(
        "listHistory",
        "Show the history of an execution, oldest entry first or newest first",
    ))
    .query("after", whole(0), "Only after this sequence. With `order=asc` only.")
    .query("before", whole(1), "Only before this sequence. With `order=desc` only.")
    .query(
        "order",
        words(&Order::ALL.map(Order::word)),
        "`asc`: oldest first. `desc`: newest first. Default: `asc`.",
    )
    .paged()
    .answers::<wire::Page<wire::HistoryEntry>>(200, "The entries.")
}

fn list_operation() -> Operation {
    operation("listExecutions", "List executions, newest first")
        .query("machine", text(), "Only of this machine.")
        .query("status", Shape::of::<wire::ExecutionStatus>(), "Only with this status.")
        .query("key", text(), "Only with this key.")
        .query(
            "state",
            text(),
            "Only executions in which this state or a state inside it is active.",
        )
        .filtered()
        .query("view", words(&View::ALL.map(View::word)), SUMMARIES)
        .paged()
        .answers::<wire::Page<wire::ListedExecution>>(200, "The executions.")
        .reads()
}

fn start_operation() -> Operation {
    operation("startExecution", "Start an execution")
        .waits()
        .body::<wire::Start>()
        .answers::<wire::Execution>(201, "The started execution.")
        .located()
        .writes()
        .once()
        .audited()
        .refuses([
            requests::Code::MachineUnknown,
            requests::Code::VersionUnknown,
            requests::Code::InputInvalid,
            requests::Code::KeyInUse,
            requests::Code::NameInvalid,
            requests::Code::DecisionFailed,
            requests::Code::VariablesTooLarge,
        ])
}

fn migrate_operation() -> Operation {
    let summary = "Migrate an execution to another version, or check what a migration would do";
    one(operation("migrateExecution", summary))
        .body::<wire::MigrateRequest>()
        .answers::<wire::Migrated>(200, "The migrated execution, or the result of the check.")
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict, requests::Code::ExecutionClosed])
        .refuses([requests::Code::VersionUnknown, requests::Code::MigrationImpossible])
}

/// `POST /v1/executions`, with `?wait=30s` until it is closed.
pub(crate) async fn start(
    State(app): State<App>,
    caller: Asker,
    Query(Wait(wait)): Query<Wait>,
    once: Once,
    Body(start): Body<Start>,
) -> Answer {
    caller.covers(ScopeKind::Machine, &start.machine)?;
    let asked = match wait {
        None => once.ask(start).await,
        Some(wait) => start_and_wait(&app, &once, start, wait).await,
    };
    Ok(answered(asked, |view| {
        created(format!("/v1/executions/{}", view.id), &view)
    }))
}

async fn start_and_wait(app: &App, once: &Once, start: Start, wait: Duration) -> Replied<Box<wire::Execution>> {
    let (mut asked, closing) = app.engine.ask_closing(start, &once.asker).await;
    if let Ok(view) = &mut asked.answer {
        let later = if asked.replayed {
            app.execution(view.id, Some(wait)).await
        } else {
            app.closing(view.id, closing, wait).await
        };
        // It is started, whatever becomes of the waiting: an error here would make the client start another one.
        if let Ok(later) = later {
            **view = later;
        }
    }
    asked
}

pub(crate) struct ListParams {
    condition: Condition,
    view: View,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["machine", "status", "key", "state", "filter", "view", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let status = params.word("status", &ExecutionStatus::ALL, ExecutionStatus::word);
        let given = [
            params.condition("machine", Field::Machine),
            status.map(|status| Condition::number(Field::Status, status as u8)),
            params.condition("key", Field::Key),
            params.condition("state", Field::State),
        ];
        let filter = params.filter(Resource::Executions);
        Self {
            condition: given.into_iter().flatten().fold(filter, Condition::and),
            view: View::read(params),
            page: params.page("executions"),
        }
    }
}

/// `GET /v1/executions`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, view, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, view.rows());
    let (mut whole, mut short) = (rows.writer(), rows.writer());
    let write = move |row| match view {
        View::Whole => whole(row),
        View::Summary => short(wire::ExecutionSummary::from(row)),
    };
    let read = app.engine.read();
    let found = read.find_executions(condition, after, page.limit(), write).await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/executions/{id}`, with `?wait=30s` until it is closed.
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ExecutionId>, Query(Wait(wait)): Query<Wait>) -> Answer {
    let view = app.execution(id, wait).await?;
    Ok(ok(&explain::refined(&app.engine, view).await?))
}

/// The order of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    OldestFirst,
    NewestFirst,
}

impl Order {
    const ALL: [Self; 2] = [Self::OldestFirst, Self::NewestFirst];

    fn word(self) -> &'static str {
        match self {
            Self::OldestFirst => "asc",
            Self::NewestFirst => "desc",
        }
    }
}

pub(crate) struct HistoryParams {
    order: Order,
    /// Entries after it, or before it, as the order says.
    bound: Option<u64>,
    page: Page,
}

impl FromParams for HistoryParams {
    const KNOWN: &'static [&'static str] = &["after", "before", "order", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let order = params.word("order", &Order::ALL, Order::word).unwrap_or_default();
        let (after, before) = (params.whole("after", 0, u64::MAX), params.whole("before", 1, u64::MAX));
        let (bound, other) = match order {
            Order::OldestFirst => (after, before.map(|_| ("before", "desc"))),
            Order::NewestFirst => (before, after.map(|_| ("after", "asc"))),
        };
        if let Some((name, needed)) = other {
            params.refuse(name, &format!("works with `order={needed}` only"));
        }
        Self {
            order,
            bound,
            page: params.page("history"),
        }
    }
}

/// `GET /v1/executions/{id}/history`: oldest first after a sequence, or newest first before one.
pub(crate) async fn history(
    State(app): State<App>,
    Id(id): Id<ExecutionId>,
    Query(HistoryParams { order, bound, page }): Query<HistoryParams>,
) -> Answer {
    let bound = page.after::<u64>()?.or(bound);
    let (room, rows) = (app.flight.page().await?, Rows::default());
    let read = app.engine.read();
    let found = match order {
        Order::OldestFirst => {
            read.history(id, bound.unwrap_or(0), page.limit(), rows.writer())
                .await?
        }
        Order::NewestFirst => {
            let look_up = app.engine.look_up();
            look_up.history_back(id, bound, page.limit(), rows.writer()).await?
        }
    };
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/executions/{id}/at/{sequence}`: as it was after an entry of its history.
pub(crate) async fn at_entry(
    State(app): State<App>,
    Path((id, sequence)): Path<(String, String)>,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    let id: ExecutionId = id
        .parse()
        .map_err(|error: ParseIdError| Problem::new(Code::PathInvalid, error.to_string()))?;
    let invalid = |detail: &str| {
        let sequence = shown(&sequence);
        Problem::new(
            Code::PathInvalid,
            format!("`{sequence}` is not the sequence of an entry: {detail}"),
        )
    };
    let number = sequence.parse().map_err(|_| invalid("use a whole number from 1 on"))?;
    let found = app.engine.look_up().execution_at(id, number).await?;
    let state = found.map_err(|newest| invalid(&format!("execution `{id}` has the entries 1 to {newest}")))?;
    Ok(ok(&state))
}

/// `GET /v1/executions/{id}/explain`: why it does not move.
pub(crate) async fn explain(State(app): State<App>, Id(id): Id<ExecutionId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&explain::explain(&app.engine, id).await?))
}

/// `POST /v1/executions/{id}/replay`: steps through its causes again and compares.
pub(crate) async fn replay(
    State(app): State<App>,
    Id(id): Id<ExecutionId>,
    Query(Nothing): Query<Nothing>,
    Body(NoFields {}): Body<NoFields>,
) -> Answer {
    Ok(ok(&app.engine.read().replay(id).await?))
}

/// `POST /v1/executions/{id}/cancel`
pub(crate) async fn cancel(Change { id, once, .. }: Change<ExecutionId>) -> Answer {
    Ok(answered(once.ask(Cancel(id)).await, |view| ok(&view)))
}

/// `POST /v1/executions/{id}/pause`
pub(crate) async fn pause(Change { id, once, .. }: Change<ExecutionId>) -> Answer {
    Ok(answered(once.ask(Pause(id)).await, |view| ok(&view)))
}

/// `POST /v1/executions/{id}/resume`
pub(crate) async fn resume(Change { id, once, .. }: Change<ExecutionId>) -> Answer {
    Ok(answered(once.ask(Resume(id)).await, |view| ok(&view)))
}

/// `POST /v1/executions/{id}/migrate`: to the newest version unless one is named; with `check` nothing is changed.
pub(crate) async fn migrate(
    State(app): State<App>,
    Id(id): Id<ExecutionId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(body): Body<wire::MigrateRequest>,
) -> Answer {
    let wire::MigrateRequest { version, states, check } = body;
    let migrate = Migrate {
        execution: id,
        version,
        states: states.unwrap_or_default(),
    };
    if check == Some(true) {
        return Ok(ok(&app.engine.read().check_migration(migrate).await?));
    }
    Ok(answered(once.ask(migrate).await, |view| ok(&view)))
}
