//! The one route table: paths, methods, handlers, and what each of them is.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;

use crate::app::App;
use crate::handlers::workers::handlers as workers;
use crate::handlers::{
    actions, audit, backup, compare, dead_letters, executions, hooks, jobs, limits, machines, messages, metrics, pages,
    runners, simulate, streams, switches, system,
};
use crate::listen::observe::observe;
use crate::nodes::owner::{self, OwnerFirst};
use crate::openapi::{Methods, get, operations as doc, post, put};
use crate::problem::shown::shown;
use crate::problem::{Code, Problem};

/// The route of inbound webhooks, which are not asked for their origin.
pub(crate) const HOOKS: &str = "/v1/hooks/{machine}/{name}";

/// A path with its methods.
pub(crate) type Route = (&'static str, Methods);

/// Every route with its handlers and what they are. The router, the OpenAPI document and the page are made of it.
pub(crate) fn table() -> Vec<Route> {
    [
        about_the_server(),
        about_machines(),
        about_executions(),
        about_actions(),
        about_runners(),
        about_operating(),
        about_jobs(),
        about_workers(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn about_the_server() -> Vec<Route> {
    vec![
        ("/", get(pages::index, doc::system::index())),
        ("/style.css", get(pages::style, doc::system::style())),
        ("/v1/openapi.json", get(pages::openapi, doc::system::openapi())),
        ("/healthz", get(system::healthy, doc::system::healthy())),
        ("/readyz", get(system::ready, doc::system::ready())),
        ("/metrics", get(metrics::show, doc::system::metrics())),
        ("/v1/stream", get(streams::hints, doc::system::hints())),
        ("/errors/{code}", get(system::error_page, doc::system::error_page())),
        ("/v1/system", get(system::show, doc::system::show())),
        (
            "/v1/system/clock",
            put(system::accept_clock, doc::system::accept_clock()),
        ),
        (
            "/v1/schemas/machine",
            get(system::machine_schema, doc::system::machine_schema()),
        ),
        ("/v1/system/backup", post(backup::take, doc::system::backup())),
        ("/v1/audit", get(audit::list, doc::audit::list())),
        ("/v1/audit/heads", get(audit::heads, doc::audit::heads())),
        ("/v1/system/restored", get(backup::restored, doc::system::restored())),
    ]
}

fn about_machines() -> Vec<Route> {
    vec![
        (
            "/v1/machines",
            get(machines::list, doc::machines::list()).post(machines::apply, doc::machines::apply()),
        ),
        (
            "/v1/machines/lint",
            post(machines::lint, doc::machines::lint())
                .get(machines::show_verb, doc::machines::show_verb("showMachineLint")),
        ),
        (
            "/v1/machines/simulate",
            post(simulate::simulate, doc::machines::simulate())
                .get(machines::show_verb, doc::machines::show_verb("showMachineSimulate")),
        ),
        (
            "/v1/machines/diff",
            post(compare::diff, doc::machines::diff())
                .get(machines::show_verb, doc::machines::show_verb("showMachineDiff")),
        ),
        ("/v1/machines/{id}", get(machines::show, doc::machines::show())),
        (
            "/v1/machines/{id}/diagram",
            get(compare::diagram, doc::machines::diagram()),
        ),
        (
            "/v1/machines/{id}/versions/{version}",
            get(machines::show_version, doc::machines::show_version()),
        ),
    ]
}

fn about_executions() -> Vec<Route> {
    vec![
        (HOOKS, post(hooks::receive, doc::executions::hook())),
        (
            "/v1/messages",
            post(messages::send_by_key, doc::executions::send_by_key()),
        ),
        (
            "/v1/executions",
            get(executions::list, doc::executions::list()).post(executions::start, doc::executions::start()),
        ),
        (
            "/v1/executions/{id}",
            get(executions::show, doc::executions::show()).owner_first(OwnerFirst::Watched(owner::awaited_execution)),
        ),
        (
            "/v1/executions/{id}/messages",
            post(messages::send, doc::executions::send()),
        ),
        (
            "/v1/executions/{id}/history",
            get(executions::history, doc::executions::history()),
        ),
        (
            "/v1/executions/{id}/stream",
            get(streams::follow, doc::executions::follow()).owner_first(OwnerFirst::Watched(owner::execution)),
        ),
        (
            "/v1/executions/{id}/explain",
            get(executions::explain, doc::executions::explain()).owner_first(OwnerFirst::Explained(owner::execution)),
        ),
        (
            "/v1/executions/{id}/replay",
            post(executions::replay, doc::executions::replay()),
        ),
        (
            "/v1/executions/{id}/cancel",
            post(executions::cancel, doc::executions::cancel()),
        ),
        (
            "/v1/executions/{id}/pause",
            post(executions::pause, doc::executions::pause()),
        ),
        (
            "/v1/executions/{id}/resume",
            post(executions::resume, doc::executions::resume()),
        ),
        (
            "/v1/executions/{id}/migrate",
            post(executions::migrate, doc::executions::migrate()),
        ),
    ]
}

fn about_actions() -> Vec<Route> {
    vec![
        ("/v1/actions", get(actions::list, doc::actions::list())),
        ("/v1/actions/queue", get(actions::queue, doc::actions::queue())),
        ("/v1/actions/health", get(actions::health, doc::actions::health())),
        ("/v1/actions/{id}", get(actions::show, doc::actions::show())),
        (
            "/v1/actions/{id}/retry-now",
            post(actions::retry_now, doc::actions::retry_now()),
        ),
        ("/v1/actions/{id}/cancel", post(actions::cancel, doc::actions::cancel())),
        ("/v1/dead-letters", get(dead_letters::list, doc::dead_letters::list())),
        (
            "/v1/dead-letters/retry",
            post(dead_letters::retry_all, doc::jobs::retry_all()),
        ),
        (
            "/v1/dead-letters/{id}",
            get(dead_letters::show, doc::dead_letters::show()),
        ),
        (
            "/v1/dead-letters/{id}/retry",
            post(dead_letters::retry, doc::dead_letters::retry()),
        ),
        (
            "/v1/dead-letters/{id}/archive",
            post(dead_letters::archive, doc::dead_letters::archive()),
        ),
    ]
}

fn about_runners() -> Vec<Route> {
    vec![
        ("/v1/runners/lease", post(runners::lease, doc::runners::lease())),
        (
            "/v1/attempts/{id}/heartbeat",
            post(runners::heartbeat, doc::runners::heartbeat()),
        ),
        (
            "/v1/attempts/{id}/complete",
            post(runners::complete, doc::runners::complete()),
        ),
        ("/v1/attempts/{id}/fail", post(runners::fail, doc::runners::fail())),
    ]
}

fn about_operating() -> Vec<Route> {
    vec![
        (
            "/v1/kill-switches",
            get(switches::list, doc::switches::list()).post(switches::on, doc::switches::on()),
        ),
        ("/v1/kill-switches/{id}", get(switches::show, doc::switches::show())),
        (
            "/v1/kill-switches/{id}/release",
            post(switches::release, doc::switches::release()),
        ),
        ("/v1/limits", get(limits::list, doc::limits::list())),
        (
            "/v1/limits/{key}",
            get(limits::show, doc::limits::show())
                .put(limits::set, doc::limits::set())
                .delete(limits::clear, doc::limits::clear()),
        ),
    ]
}

/// The paths of all routes.
#[cfg(test)]
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    table().into_iter().map(|(path, _)| path)
}

fn about_jobs() -> Vec<Route> {
    vec![
        ("/v1/jobs", get(jobs::list, doc::jobs::list())),
        ("/v1/jobs/{id}", get(jobs::show, doc::jobs::show())),
        ("/v1/jobs/{id}/items", get(jobs::items, doc::jobs::items())),
        ("/v1/jobs/{id}/pause", post(jobs::pause, doc::jobs::pause())),
        ("/v1/jobs/{id}/resume", post(jobs::resume, doc::jobs::resume())),
        ("/v1/jobs/{id}/cancel", post(jobs::cancel, doc::jobs::cancel())),
    ]
}

fn about_workers() -> Vec<Route> {
    vec![
        ("/v1/workers", get(workers::list, doc::workers::list())),
        ("/v1/workers/deltas", get(workers::deltas, doc::workers::deltas())),
        ("/v1/workers/reload", post(workers::reload, doc::workers::reload())),
        (
            "/v1/workers/{path}/explain",
            get(workers::explain, doc::workers::explain()),
        ),
        ("/v1/workers/{path}/logs", get(workers::logs, doc::workers::logs())),
        ("/v1/workers/{path}/start", post(workers::start, doc::workers::start())),
        ("/v1/workers/{path}/stop", post(workers::stop, doc::workers::stop())),
        (
            "/v1/workers/{path}/restart",
            post(workers::restart, doc::workers::restart()),
        ),
        (
            "/v1/workers/{path}/cancel",
            post(workers::cancel, doc::workers::cancel()),
        ),
    ]
}

/// The whole API.
pub(crate) fn router(app: App) -> Router {
    let routes = table().into_iter().fold(Router::new(), |router, (path, methods)| {
        router.route(path, methods.router)
    });
    around(routes, app)
}

/// Adds what holds for every request, known route or not.
pub(crate) fn around(routes: Router<App>, app: App) -> Router {
    routes
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(app.clone(), surround))
        .with_state(app)
}

/// Runs a request: it is observed, guarded, admitted, forwarded and handled, each by the one before. These are not layers of
/// their own: each layer allocates a future and copies the route for every request.
async fn surround(State(app): State<App>, request: Request, next: Next) -> Response {
    observe(&app, request, next).await
}

async fn unknown(uri: Uri) -> Problem {
    Problem::new(
        Code::RouteUnknown,
        format!(
            "there is no route `{}`; `/v1/openapi.json` lists all routes",
            shown(uri.path())
        ),
    )
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!(
        "`{}` does not take {}; `Allow` lists what it takes",
        shown(uri.path()),
        shown(method.as_str())
    );
    Problem::new(Code::MethodNotAllowed, detail)
}
