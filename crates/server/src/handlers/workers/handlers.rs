//! What the routes of supervision do.

use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sprag_core::integrity::audit::Verb;
use sprag_engine::Asker;
use sprag_supervisor::process::{TAIL_LINES_MAX, follow, tail};
use sprag_supervisor::store::{Cursor, PAGE_MAX, Page};
use sprag_supervisor::{Phase, ROOT_PATH, Status};
use sprag_wire as wire;

use super::once::IdempotentRequest;
use super::views::{IntoWire as _, explanation, worker};
use super::{Shared, Workers};
use crate::access::caller::Who;
use crate::access::rule::{OPERATOR, VIEWER};
use crate::handlers::reply::{Answer, ok};
use crate::metrics::{MEDIA_TYPE, supervision_page};
use crate::openapi::{Operation, Route, at, text, whole};
use crate::problem::shown::shown;
use crate::problem::{Code, Problem, page};
use crate::request::query::{self, FromParams, Nothing, Params, Query};

/// The group.
pub(crate) const RESOURCE: &str = "workers";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary).refuses([Code::SupervisionOff, Code::SupervisorStopped])
}

/// An operation on one worker.
pub(crate) fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path(
            "path",
            text(),
            "The worker: `parent/child` as one segment, `parent%2Fchild`; `%2F` is the supervisor itself, which owns the \
             rules at the top.",
        )
        .refuses([Code::WorkerUnknown])
}

/// A person's word to a worker.
fn word(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .answers::<wire::Worker>(200, "The worker.")
        .writes()
        .once()
        .audited()
        .refuses([Code::WorkerLeaving, Code::OperationRefused])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/workers")
            .get(VIEWER, list)
            .is(operation("listWorkers", "List workers, parents before their children")
                .continued()
                .answers::<wire::Page<wire::Worker>>(200, "The workers.")),
        at("/v1/workers/deltas").get(VIEWER, deltas).is(operation(
            "listWorkerDeltas",
            "List the changes of workers since a cursor",
        )
        .query("after", text(), "`cursor` of the previous answer. Send none to start.")
        .answers::<wire::WorkerDeltas>(200, "The changes.")),
        at("/v1/workers/reload")
            .post(OPERATOR, reload)
            .is(operation("reloadWorkers", "Reload the services file")
                .answers::<wire::Reloaded>(200, "The changes of the reload.")
                .writes()
                .once()
                .audited()
                .refuses([Code::ServicesInvalid])),
        at("/v1/workers/{path}/explain").get(VIEWER, explain).is(one(
            "explainWorker",
            "Explain the state of a worker and its next step",
        )
        .answers::<wire::WorkerExplanation>(200, "The explanation.")),
        at("/v1/workers/{path}/logs")
            .get(VIEWER, logs)
            .is(one("showWorkerLogs", "Read the log of a worker")
                .query("lines", whole(0), "The number of last lines.")
                .query("after", whole(0), "Only text after this `offset`.")
                .answers::<wire::WorkerLog>(200, "A part of its log.")),
        at("/v1/workers/{path}/start").post(OPERATOR, start).is(word(
            "startWorker",
            "Start a worker; clear escalations and failures below it",
        )),
        at("/v1/workers/{path}/stop")
            .post(OPERATOR, stop)
            .is(word("stopWorker", "Stop a worker and keep it stopped")),
        at("/v1/workers/{path}/restart")
            .post(OPERATOR, restart)
            .is(word("restartWorker", "Restart a worker and clear its failures")),
        at("/v1/workers/{path}/cancel")
            .post(OPERATOR, cancel)
            .is(word("cancelWorkerAction", "Cancel the action in progress of a worker")),
    ]
}

/// Lines of a log that is not told how many.
pub(crate) const LINES: usize = 100;
/// Whose word a reload is kept with.
const ROOT: &str = "";

/// The path of a worker, as one segment: `shop%2Fbroker`.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(path)) => Ok(Self(path)),
            Err(rejection) => Err(Problem::new(Code::PathInvalid, rejection.body_text())),
        }
    }
}

/// Where the list continues.
pub(crate) struct ListParams(query::Page);

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("workers"))
    }
}

/// `GET /v1/workers`: everybody, parents before their children.
pub(crate) async fn list(State(shared): State<Shared>, Query(ListParams(page)): Query<ListParams>) -> Answer {
    let workers = shared.workers()?;
    let list = workers.handle.list().await?;
    let now = workers.clock.now();
    let views = list.iter().map(|status| worker(status, now)).collect();
    Ok(ok(&page.part(views)?))
}

/// `GET /v1/workers/{path}/explain`: what holds it, what happens next and when, what a person can do.
pub(crate) async fn explain(
    State(shared): State<Shared>,
    Named(path): Named,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    let workers = shared.workers()?;
    let explain = workers.handle.explain(&path).await?;
    Ok(ok(&explanation(explain, workers.clock.now())))
}

/// Which part of a log.
pub(crate) struct LogRange {
    pub(crate) lines: Option<usize>,
    pub(crate) after: Option<u64>,
}

impl FromParams for LogRange {
    const KNOWN: &'static [&'static str] = &["lines", "after"];

    fn read(params: &mut Params) -> Self {
        let number = |text: &str| text.parse::<u64>().map_err(|_| "is not a whole number".to_owned());
        let lines = params.parsed("lines", |text| {
            let lines = text.parse::<usize>().ok().filter(|lines| *lines <= TAIL_LINES_MAX);
            lines.ok_or_else(|| format!("is not a whole number up to {TAIL_LINES_MAX}"))
        });
        let after = params.parsed("after", number);
        Self { lines, after }
    }
}

/// `GET /v1/workers/{path}/logs`: the last lines, or what was written after an offset that was answered before.
pub(crate) async fn logs(State(shared): State<Shared>, Named(path): Named, Query(part): Query<LogRange>) -> Answer {
    let log = shared.log(&path).await?;
    let read = tokio::task::spawn_blocking(move || match part.after {
        Some(after) => follow(&log, after),
        None => tail(&log, part.lines.unwrap_or(LINES)),
    });
    match read.await {
        Ok(Ok(read)) => Ok(ok(&wire::WorkerLog {
            text: read.text,
            offset: read.offset,
        })),
        Ok(Err(error)) => {
            let detail = format!("the log of `{}` cannot be read: {error}", shown(&path));
            Err(Problem::new(Code::InternalError, detail))
        }
        Err(_) => Err(Problem::new(
            Code::InternalError,
            "the server could not read the log; its own log has the cause",
        )),
    }
}

/// Where a reader of deltas stands.
pub(crate) struct AfterCursor(Option<Cursor>);

impl FromParams for AfterCursor {
    const KNOWN: &'static [&'static str] = &["after"];

    fn read(params: &mut Params) -> Self {
        Self(params.parsed("after", |text| {
            text.parse::<Cursor>().map_err(|error| error.to_string())
        }))
    }
}

/// `GET /v1/workers/deltas`: what changed since a cursor; everything, where that cannot be said.
pub(crate) async fn deltas(State(shared): State<Shared>, Query(AfterCursor(after)): Query<AfterCursor>) -> Answer {
    let page = shared.workers()?.store.changes(after, PAGE_MAX);
    let (deltas, everything, cursor, has_more) = match page {
        Page::Deltas {
            deltas,
            cursor,
            has_more,
        } => (Some(deltas.into_wire()), None, cursor, has_more),
        Page::Everything { workers, cursor } => (None, Some(workers.into_wire()), cursor, false),
    };
    Ok(ok(&wire::WorkerDeltas {
        deltas,
        everything,
        cursor: cursor.to_string(),
        has_more,
    }))
}

/// `POST /v1/workers/{path}/start`
pub(crate) async fn start(order: Order) -> Answer {
    order.carry_out(sprag_supervisor::Operation::Start).await
}

/// `POST /v1/workers/{path}/stop`
pub(crate) async fn stop(order: Order) -> Answer {
    order.carry_out(sprag_supervisor::Operation::Stop).await
}

/// `POST /v1/workers/{path}/restart`
pub(crate) async fn restart(order: Order) -> Answer {
    order.carry_out(sprag_supervisor::Operation::Restart).await
}

/// `POST /v1/workers/{path}/cancel`
pub(crate) async fn cancel(order: Order) -> Answer {
    order.carry_out(sprag_supervisor::Operation::Cancel).await
}

/// `POST /v1/workers/reload`
pub(crate) async fn reload(
    State(shared): State<Shared>,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
    headers: HeaderMap,
) -> Answer {
    let workers = shared.workers()?;
    let word = IdempotentRequest::new(&workers.store, (ROOT, "reload"), &headers, workers.clock.now())?;
    if let Some(replayed) = word.replay() {
        return Ok(replayed);
    }
    shared.record(Verb::ReloadServices, "services", None, &asker).await?;
    let reloaded = match workers.reload.reload().await {
        Ok(reloaded) => reloaded,
        Err(not) => {
            return Err(shared
                .refuse(Verb::ReloadServices, "services", not.into(), &asker)
                .await);
        }
    };
    Ok(word.answer(&reloaded).await)
}

/// What a person asks of one worker.
pub(crate) struct Order {
    shared: Shared,
    path: String,
    asker: Asker,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Order
where
    Shared: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Named(path) = Named::from_request_parts(parts, state).await?;
        Query::<Nothing>::from_request_parts(parts, state).await?;
        let Who(asker) = Who::from_request_parts(parts, state).await?;
        Ok(Self {
            shared: Shared::from_ref(state),
            path,
            asker,
            headers: parts.headers.clone(),
        })
    }
}

impl Order {
    /// A person's word: never refused by a limit, and what failed before is forgotten. The audit has it before anything is
    /// done; a refusal that follows is an entry of its own.
    async fn carry_out(&self, operation: sprag_supervisor::Operation) -> Answer {
        let Self {
            shared,
            path,
            asker,
            headers,
        } = self;
        let workers = shared.workers()?;
        let verb = verb_of(operation);
        let word = IdempotentRequest::new(&workers.store, (path, operation.verb()), headers, workers.clock.now())?;
        if let Some(replayed) = word.replay() {
            return Ok(replayed);
        }
        if let Err(error) = workers.handle.explain(path).await {
            return Err(shared.refuse(verb, path, error.into(), asker).await);
        }
        shared.record(verb, path, None, asker).await?;
        if operation != sprag_supervisor::Operation::Cancel {
            forget(workers, operation, path).await?;
        }
        if let Err(error) = workers.handle.operate(operation, path, &asker.caller.principal).await {
            return Err(shared.refuse(verb, path, error.into(), asker).await);
        }
        // What is answered happens, whatever becomes of this process. A disk that takes nothing is said by the store.
        let _ = workers.store.settled().wait().await;
        let explain = workers.handle.explain(path).await?;
        Ok(word.answer(&worker(&explain.status, workers.clock.now())).await)
    }
}

/// The audit's verb for an operation.
fn verb_of(operation: sprag_supervisor::Operation) -> Verb {
    match operation {
        sprag_supervisor::Operation::Start => Verb::StartService,
        sprag_supervisor::Operation::Stop => Verb::StopService,
        sprag_supervisor::Operation::Restart => Verb::RestartService,
        sprag_supervisor::Operation::Cancel => Verb::CancelService,
    }
}

/// Forgets what failed before: of the service itself, and of those below it that failed where they are to start as well.
async fn forget(workers: &Workers, operation: sprag_supervisor::Operation, path: &str) -> Result<(), Problem> {
    let mut forgotten = vec![path.to_owned()];
    if matches!(
        operation,
        sprag_supervisor::Operation::Start | sprag_supervisor::Operation::Restart
    ) {
        let is_below = |status: &&Status| {
            let rest = status.path.strip_prefix(path);
            path == ROOT_PATH || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let list = workers.handle.list().await?;
        let failed = list.iter().filter(|status| status.phase == Phase::Failed);
        forgotten.extend(failed.filter(is_below).map(|status| status.path.to_string()));
    }
    let services = workers.services.clone();
    let forget = move || forgotten.iter().for_each(|path| services.forget(path));
    // A record that could not be written is said in the log; the person's word counts all the same.
    let _ = tokio::task::spawn_blocking(forget).await;
    Ok(())
}

/// `GET /readyz`
pub(super) async fn ready(State(shared): State<Shared>) -> Answer {
    let counts = shared.workers()?.handle.counts().await?;
    Ok(ok(&json!({"status": "ready", "workers": counts})))
}

/// `GET /metrics`
pub(super) async fn metrics(State(shared): State<Shared>) -> Answer {
    let handle = &shared.workers()?.handle;
    let gauges = handle.gauges().await.ok();
    let text = supervision_page(handle.metrics(), gauges.as_ref());
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}

/// `GET /errors/{code}`
pub(super) async fn error_page(Named(code): Named) -> Response {
    match page(&code) {
        Some(text) => ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response(),
        None => Problem::new(
            Code::RouteUnknown,
            format!("`{}` is not an error code; `/errors` lists all codes", shown(&code)),
        )
        .into_response(),
    }
}
