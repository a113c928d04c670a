//! Load tests: start, list, show, follow, abort. A load test is an action of type `load`; its figures are those of the runner.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Value, json};
use sprag_agent::durable::{Directory, is_address, result_in};
use sprag_core::access::{Caller, ScopeKind};
use sprag_core::action::definition::LOAD;
use sprag_core::action::{ActionError, ConfigProblem, Status};
use sprag_core::document::source::Format;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_core::machine::ConfigCheck as _;
use sprag_engine::Asker as EngineAsker;
use sprag_engine::requests::{self, Apply, CancelAction, Refusal, Start};
use sprag_store::Page as StorePage;
use sprag_store::traits::ActionQuery;
use sprag_wire as wire;

use crate::access::rule::{OPERATOR, VIEWER};
use crate::access::scope::{Asker, Target};
use crate::app::App;
use crate::handlers::reply::{Answer, created, ok};
use crate::nodes::owner::{self, OwnerFirst};
use crate::openapi::{Operation, Route, Shape, Success, at, text};
use crate::problem::shown::shown as shown_text;
use crate::problem::{Code, FieldError, Problem};
use crate::request::body::{Body, NoFields};
use crate::request::once::{Change, Once, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};
use crate::streams::FollowingLoad;

/// The machine around a load test that a request starts.
pub(crate) const MACHINE: &str = "sprag.load";
/// Its only action.
const ACTION: &str = "load";
/// The reason that the audit keeps when a server applies this machine for the first time.
const REASON: &str = "the machine of /v1/loads, which this version of Sprag brings along";

/// The group.
pub(crate) const RESOURCE: &str = "load tests";

pub(super) fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one load test.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<ActionId>(), "The id of the load test.")
        .reads()
        .refuses([requests::Code::ActionUnknown])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/loads")
            .get(VIEWER, list)
            .is(operation("listLoads", "List load tests, newest first")
                .query("status", Shape::of::<wire::ActionStatus>(), "Only with this status.")
                .filtered()
                .paged()
                .answers::<wire::Page<wire::Load>>(200, "The load tests.")
                .reads())
            .post(OPERATOR, start)
            .is(start_operation())
            .about(Target::Handler),
        at("/v1/loads/{id}")
            .get(VIEWER, show)
            .is(one("showLoad", "Show a load test with its live figures or its result")
                .answers::<wire::Load>(200, "The load test."))
            .owner_first(OwnerFirst::Explained(owner::action)),
        at("/v1/loads/{id}/stream")
            .get(VIEWER, follow)
            .is(follow_operation())
            .owner_first(OwnerFirst::Watched(owner::action)),
        at("/v1/loads/{id}/abort")
            .post(OPERATOR, abort)
            .is(one("abortLoad", "Abort a load test on all its agents")
                .body::<NoFields>()
                .answers::<wire::Load>(200, "The load test.")
                .writes()
                .once()
                .audited()
                .refuses([requests::Code::StatusConflict]))
            .about(Target::Action),
    ]
}

fn start_operation() -> Operation {
    operation("startLoad", "Start a load test on agents")
        .body::<wire::LoadRequest>()
        .answers::<wire::Load>(
            201,
            "The new load test. It starts once its action is due and no kill switch holds it.",
        )
        .located()
        .writes()
        .once()
        .audited()
        .refuses([Code::LoadPlanInvalid])
        .refuses([
            requests::Code::DecisionFailed,
            requests::Code::DefinitionInvalid,
            requests::Code::NameInvalid,
            requests::Code::VariablesTooLarge,
        ])
}

fn follow_operation() -> Operation {
    one(
        "followLoad",
        "Stream the status and the live figures of a load test, as server-sent events",
    )
    .gives(Success::of(
        200,
        "Events until the load test ends: `load` after each change of its status, `figures` each second while it runs, and \
         `ended`. Figures are cumulative, so a client that reconnects has missed nothing; there is no `Last-Event-ID`.",
        "text/event-stream",
        text(),
    ))
    .refuses([Code::TooManyStreams])
}

fn machine() -> Value {
    json!({
        "id": MACHINE,
        "description": "A load test that was started by POST /v1/loads.",
        "initial": "running",
        "states": {
            "running": { "on": { "done.load": "succeeded", "failed.load": "failed" } },
            "succeeded": { "type": "final" },
            "failed": { "type": "final" },
        },
        "actions": [{
            "actionId": ACTION,
            "type": LOAD,
            "triggerState": "running",
            "config": { "plan": "{{variables.plan}}", "agents": "{{variables.agents}}" },
        }],
    })
}

/// `POST /v1/loads`: an execution around one action, which runs the plan.
pub(crate) async fn start(
    State(app): State<App>,
    caller: Asker,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(body): Body<wire::LoadRequest>,
) -> Answer {
    caller.covers(ScopeKind::Machine, MACHINE)?;
    let wire::LoadRequest { plan, agents, tags } = body;
    let config = json!({ "plan": plan, "agents": agents });
    check(&app, &config)?;
    check_agents(app.loads.directory(), agents.as_deref())?;
    let variables = match config {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    let start = Start {
        machine: MACHINE.to_owned(),
        version: Some(version(&app).await?),
        key: None,
        variables,
        tags: tags.unwrap_or_default(),
    };
    let asked = once.ask(start).await;
    let load = match &asked.answer {
        Ok(execution) => Some(of_execution(&app, execution.id).await?),
        Err(_) => None,
    };
    Ok(answered(asked, |execution| match load {
        Some(load) => created(format!("/v1/loads/{}", load.id), &load),
        // A refusal has no load, and is not shown by this.
        None => ok(&execution),
    }))
}

/// Refuses what no attempt could run: a plan with errors, an agent that the outbound guard refuses.
fn check(app: &App, config: &Value) -> Result<(), Problem> {
    let problems = app.engine.check(LOAD, config).map_err(|_| {
        let detail = format!("this server has no runner for the type `{LOAD}`");
        Problem::new(Code::InternalError, detail)
    })?;
    let is_of_plan = |problem: &ConfigProblem| problem.pointer.starts_with("/plan/") || problem.pointer == "/plan";
    if let Some(first) = problems.iter().find(|problem| is_of_plan(problem)) {
        let detail = format!("`{}`: {}; {}", first.pointer, first.detail, first.remedy);
        return Err(Problem::new(Code::LoadPlanInvalid, detail).with_errors(errors(problems)));
    }
    let refused = [problems, app.engine.warnings(LOAD, config)].concat();
    let Some(first) = refused.first() else { return Ok(()) };
    let detail = format!("`{}`: {}; {}", first.pointer, first.detail, first.remedy);
    Err(Problem::new(Code::BodyInvalid, detail).with_errors(errors(refused)))
}

fn errors(problems: Vec<ConfigProblem>) -> Vec<FieldError> {
    let error = |problem: ConfigProblem| FieldError {
        pointer: problem.pointer,
        detail: format!("{}; {}", problem.detail, problem.remedy),
    };
    problems.into_iter().map(error).collect()
}

/// Refuses names that no agent has registered under.
fn check_agents(directory: &Directory, named: Option<&[String]>) -> Result<(), Problem> {
    let registered = directory.list();
    let Some(named) = named else {
        if !registered.is_empty() {
            return Ok(());
        }
        let detail = "no agent is registered; start agents with `sprag agent --server URL`, or name addresses";
        return Err(refused("/agents".to_owned(), detail.to_owned()));
    };
    let is_known = |agent: &String| is_address(agent) || registered.iter().any(|(name, _, _)| name == agent);
    match named.iter().position(|agent| !is_known(agent)) {
        None => Ok(()),
        Some(position) => {
            let detail = format!(
                "`{}` is neither `host:port` nor the name of a registered agent; see `GET /v1/agents`",
                shown_text(&named[position])
            );
            Err(refused(format!("/agents/{position}"), detail))
        }
    }
}

fn refused(pointer: String, detail: String) -> Problem {
    let shown = format!("`{pointer}`: {detail}");
    Problem::new(Code::BodyInvalid, shown).with_errors(vec![FieldError { pointer, detail }])
}

/// The version of the machine around load tests; it is applied if the newest one is another.
async fn version(app: &App) -> Result<u32, Problem> {
    let loaded = app.engine.lint(&machine().to_string(), Format::Json);
    let Some(machine) = loaded.machine else {
        return Err(Problem::of_findings(loaded.findings));
    };
    if let Ok(newest) = app.engine.read().machine(MACHINE.to_owned(), None).await
        && newest.digest == machine.digest
    {
        return Ok(newest.version);
    }
    let caller = Caller {
        reason: Some(REASON.to_owned()),
        ..Caller::local()
    };
    let asker = EngineAsker {
        caller: Arc::new(caller),
        key: None,
    };
    let apply = Apply::from(Arc::new(machine));
    let applied = app.engine.ask_once(apply, &asker).await.answer?;
    Ok(applied.version)
}

/// The load test of an execution that has just started.
async fn of_execution(app: &App, execution: ExecutionId) -> Result<wire::Load, Problem> {
    let query = ActionQuery {
        execution: Some(execution),
        action_id: Some(ACTION.to_owned()),
        page: StorePage::new(None, 1_usize),
        ..ActionQuery::default()
    };
    let found = app.engine.read().actions(query).await?.into_iter().next();
    let action = found.ok_or_else(|| {
        let detail = format!("execution `{execution}` has no action `{ACTION}`");
        Problem::new(Code::InternalError, detail)
    })?;
    Ok(shown(app, action))
}

pub(crate) struct ListParams {
    condition: Condition,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["status", "filter", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let status = params.word("status", &Status::ALL, Status::word);
        let status = status.map(|status| Condition::number(Field::Status, status.number()));
        let condition = Condition::text(Field::Type, LOAD).and(params.filter(Resource::Actions));
        Self {
            condition: status.into_iter().fold(condition, Condition::and),
            page: params.page("loads"),
        }
    }
}

/// `GET /v1/loads`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let (here, mut write) = (app.clone(), rows.writer());
    let found = app
        .engine
        .read()
        .find_actions(condition, after, page.limit(), move |action| {
            write(shown(&here, action))
        })
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/loads/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&read(&app, id).await?))
}

/// `GET /v1/loads/{id}/stream`: each change of its status, and its figures each second.
pub(crate) async fn follow(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(FollowingLoad::open(app, id).await?.response())
}

/// `POST /v1/loads/{id}/abort`
pub(crate) async fn abort(State(app): State<App>, Change { id, once, .. }: Change<ActionId>) -> Answer {
    read(&app, id).await?;
    Ok(answered(once.ask(CancelAction(id)).await, |action| {
        ok(&shown(&app, *action))
    }))
}

/// A load test as it is now.
pub(crate) async fn read(app: &App, id: ActionId) -> Result<wire::Load, Refusal> {
    let action = app.engine.read().action(id).await?;
    if action.kind != LOAD {
        let detail = format!("action `{id}` has the type `{}` and is not a load test", action.kind);
        return Err(Refusal::new(requests::Code::ActionUnknown, detail));
    }
    Ok(shown(app, action))
}

/// An action of this type, as a load test.
fn shown(app: &App, action: wire::Action) -> wire::Load {
    let member = |pointer: &str| action.config.as_ref()?.pointer(pointer);
    let written = member("/plan/name").and_then(Value::as_str).map(str::to_owned);
    let agents = member("/agents").and_then(Value::as_array).into_iter().flatten();
    let agents = agents.filter_map(Value::as_str).map(str::to_owned).collect();
    let (result, last_error) = ended(action.result.as_ref(), action.last_error);
    let live = app.loads.live(action.id).and_then(|live| live.borrow().clone());
    wire::Load {
        id: action.id,
        // What a template makes of a plan is known once it has run.
        name: written.or_else(|| result.as_ref().map(|result| result.name.clone())),
        status: action.status,
        waiting: action.waiting,
        cancel_requested: action.cancel_requested,
        agents,
        execution_id: action.execution_id,
        live,
        result,
        last_error,
        created_at: action.created_at,
        ended_at: action.attempts.last().and_then(|attempt| attempt.end_time),
    }
}

/// The result of a run, and the error without the result that it carries.
fn ended(result: Option<&Value>, error: Option<ActionError>) -> (Option<wire::RunResult>, Option<ActionError>) {
    if let Some(result) = result.and_then(|result| serde_json::from_value(result.clone()).ok()) {
        return (Some(result), error);
    }
    let Some(mut error) = error else { return (None, None) };
    let result = result_in(&error);
    if result.is_some() {
        error.details = None;
    }
    (result, Some(error))
}
