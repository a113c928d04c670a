//! The one route table: paths, methods, who may use each, handlers, and what each of them is.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::access::rule::{
    ADMIN, APPROVER, AUTHOR, EVERYBODY, OPERATOR, OPERATOR_OR_AUTHOR, OPERATOR_OR_PROPOSER, PROPOSER, RUNNER, Rule,
    VIEWER,
};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::workers::handlers as workers;
use crate::handlers::{
    actions, audit, backup, compare, dead_letters, executions, hooks, jobs, limits, machines, messages, metrics,
    operations, pages, runners, simulate, streams, switches, system, tokens, ui, workflows,
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
        about_operations(),
        about_workers(),
        about_tokens(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn about_the_server() -> Vec<Route> {
    vec![
        ("/", get(Rule::Public, ui::index, doc::system::index())),
        ("/assets/{file}", get(Rule::Public, ui::asset, doc::system::asset())),
        ("/api", get(Rule::Public, pages::index, doc::system::reference())),
        ("/style.css", get(Rule::Public, pages::style, doc::system::style())),
        ("/v1/openapi.json", get(VIEWER, pages::openapi, doc::system::openapi())),
        ("/healthz", get(Rule::Public, system::healthy, doc::system::healthy())),
        ("/readyz", get(Rule::Public, system::ready, doc::system::ready())),
        ("/metrics", get(Rule::Metrics, metrics::show, doc::system::metrics())),
        ("/v1/stream", get(VIEWER, streams::hints, doc::system::hints())),
        (
            "/errors/{code}",
            get(Rule::Public, system::error_page, doc::system::error_page()),
        ),
        ("/v1/system", get(VIEWER, system::show, doc::system::show())),
        (
            "/v1/system/clock",
            put(ADMIN, system::accept_clock, doc::system::accept_clock()),
        ),
        (
            "/v1/schemas/machine",
            get(VIEWER, system::machine_schema, doc::system::machine_schema()),
        ),
        ("/v1/system/backup", post(ADMIN, backup::take, doc::system::backup())),
        (
            "/v1/system/restored",
            get(ADMIN, backup::restored, doc::system::restored()),
        ),
        ("/v1/audit", get(VIEWER, audit::list, doc::audit::list())),
        ("/v1/audit/heads", get(VIEWER, audit::heads, doc::audit::heads())),
    ]
}

fn about_machines() -> Vec<Route> {
    vec![
        (
            "/v1/machines",
            get(VIEWER, machines::list, doc::machines::list())
                .post(AUTHOR, machines::apply, doc::machines::apply())
                .about(Target::Handler),
        ),
        (
            "/v1/machines/lint",
            post(AUTHOR, machines::lint, doc::machines::lint())
                .get(VIEWER, machines::show_verb, doc::machines::show_verb("showMachineLint"))
                .about(Target::Handler),
        ),
        (
            "/v1/machines/simulate",
            post(AUTHOR, simulate::simulate, doc::machines::simulate())
                .get(
                    VIEWER,
                    machines::show_verb,
                    doc::machines::show_verb("showMachineSimulate"),
                )
                .about(Target::Handler),
        ),
        (
            "/v1/machines/diff",
            post(AUTHOR, compare::diff, doc::machines::diff())
                .get(VIEWER, machines::show_verb, doc::machines::show_verb("showMachineDiff"))
                .about(Target::Handler),
        ),
        ("/v1/machines/{id}", get(VIEWER, machines::show, doc::machines::show())),
        (
            "/v1/machines/{id}/diagram",
            get(VIEWER, compare::diagram, doc::machines::diagram()),
        ),
        (
            "/v1/machines/{id}/versions/{version}",
            get(VIEWER, machines::show_version, doc::machines::show_version()),
        ),
    ]
}

fn about_executions() -> Vec<Route> {
    vec![
        (HOOKS, post(Rule::Signed, hooks::receive, doc::executions::hook())),
        (
            "/v1/messages",
            post(OPERATOR, messages::send_by_key, doc::executions::send_by_key()).about(Target::Handler),
        ),
        (
            "/v1/executions",
            get(VIEWER, executions::list, doc::executions::list())
                .post(OPERATOR, executions::start, doc::executions::start())
                .about(Target::Handler),
        ),
        (
            "/v1/executions/{id}",
            get(VIEWER, executions::show, doc::executions::show())
                .owner_first(OwnerFirst::Watched(owner::awaited_execution)),
        ),
        (
            "/v1/executions/{id}/messages",
            post(OPERATOR, messages::send, doc::executions::send()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/history",
            get(VIEWER, executions::history, doc::executions::history()),
        ),
        (
            "/v1/executions/{id}/stream",
            get(VIEWER, streams::follow, doc::executions::follow()).owner_first(OwnerFirst::Watched(owner::execution)),
        ),
        (
            "/v1/executions/{id}/explain",
            get(VIEWER, executions::explain, doc::executions::explain())
                .owner_first(OwnerFirst::Explained(owner::execution)),
        ),
        (
            "/v1/executions/{id}/replay",
            post(OPERATOR_OR_AUTHOR, executions::replay, doc::executions::replay()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/cancel",
            post(OPERATOR, executions::cancel, doc::executions::cancel()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/compensate",
            post(OPERATOR, workflows::compensate, doc::executions::compensate()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/pause",
            post(OPERATOR, executions::pause, doc::executions::pause()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/resume",
            post(OPERATOR, executions::resume, doc::executions::resume()).about(Target::Execution),
        ),
        (
            "/v1/executions/{id}/migrate",
            post(OPERATOR, executions::migrate, doc::executions::migrate()).about(Target::Execution),
        ),
    ]
}

fn about_actions() -> Vec<Route> {
    vec![
        ("/v1/actions", get(VIEWER, actions::list, doc::actions::list())),
        ("/v1/actions/queue", get(VIEWER, actions::queue, doc::actions::queue())),
        (
            "/v1/actions/health",
            get(VIEWER, actions::health, doc::actions::health()),
        ),
        ("/v1/actions/{id}", get(VIEWER, actions::show, doc::actions::show())),
        (
            "/v1/actions/{id}/retry-now",
            post(OPERATOR, actions::retry_now, doc::actions::retry_now()).about(Target::Action),
        ),
        (
            "/v1/actions/{id}/cancel",
            post(OPERATOR, actions::cancel, doc::actions::cancel()).about(Target::Action),
        ),
        (
            "/v1/dead-letters",
            get(VIEWER, dead_letters::list, doc::dead_letters::list()),
        ),
        (
            "/v1/dead-letters/retry",
            post(OPERATOR, dead_letters::retry_all, doc::jobs::retry_all()),
        ),
        (
            "/v1/dead-letters/{id}",
            get(VIEWER, dead_letters::show, doc::dead_letters::show()),
        ),
        (
            "/v1/dead-letters/{id}/retry",
            post(OPERATOR, dead_letters::retry, doc::dead_letters::retry()).about(Target::Action),
        ),
        (
            "/v1/dead-letters/{id}/archive",
            post(OPERATOR, dead_letters::archive, doc::dead_letters::archive()).about(Target::Action),
        ),
    ]
}

fn about_runners() -> Vec<Route> {
    vec![
        (
            "/v1/runners/lease",
            post(RUNNER, runners::lease, doc::runners::lease()).about(Target::Handler),
        ),
        (
            "/v1/attempts/{id}/heartbeat",
            post(RUNNER, runners::heartbeat, doc::runners::heartbeat()).about(Target::Handler),
        ),
        (
            "/v1/attempts/{id}/complete",
            post(RUNNER, runners::complete, doc::runners::complete()).about(Target::Handler),
        ),
        (
            "/v1/attempts/{id}/fail",
            post(RUNNER, runners::fail, doc::runners::fail()).about(Target::Handler),
        ),
    ]
}

fn about_operating() -> Vec<Route> {
    vec![
        (
            "/v1/kill-switches",
            get(VIEWER, switches::list, doc::switches::list()).post(OPERATOR, switches::on, doc::switches::on()),
        ),
        (
            "/v1/kill-switches/{id}",
            get(VIEWER, switches::show, doc::switches::show()),
        ),
        (
            "/v1/kill-switches/{id}/held",
            get(VIEWER, switches::held, doc::switches::held()),
        ),
        (
            "/v1/kill-switches/{id}/release",
            post(OPERATOR, switches::release, doc::switches::release()),
        ),
        ("/v1/limits", get(VIEWER, limits::list, doc::limits::list())),
        (
            "/v1/limits/{key}",
            get(VIEWER, limits::show, doc::limits::show())
                .put(OPERATOR, limits::set, doc::limits::set())
                .delete(OPERATOR, limits::clear, doc::limits::clear()),
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
        ("/v1/jobs", get(VIEWER, jobs::list, doc::jobs::list())),
        ("/v1/jobs/{id}", get(VIEWER, jobs::show, doc::jobs::show())),
        ("/v1/jobs/{id}/items", get(VIEWER, jobs::items, doc::jobs::items())),
        ("/v1/jobs/{id}/pause", post(OPERATOR, jobs::pause, doc::jobs::pause())),
        (
            "/v1/jobs/{id}/resume",
            post(OPERATOR, jobs::resume, doc::jobs::resume()),
        ),
        (
            "/v1/jobs/{id}/cancel",
            post(OPERATOR, jobs::cancel, doc::jobs::cancel()),
        ),
    ]
}

fn about_operations() -> Vec<Route> {
    vec![
        (
            "/v1/operations",
            get(VIEWER, operations::list, doc::catalog::list()).post(AUTHOR, operations::apply, doc::catalog::apply()),
        ),
        (
            "/v1/operations/{id}",
            get(VIEWER, operations::show, doc::catalog::show()),
        ),
        (
            "/v1/workflows",
            get(VIEWER, workflows::list, doc::workflows::list())
                .post(PROPOSER, workflows::propose, doc::workflows::propose())
                .about(Target::Handler),
        ),
        (
            "/v1/workflows/{id}",
            get(VIEWER, workflows::show, doc::workflows::show()),
        ),
        (
            "/v1/workflows/{id}/plan",
            get(VIEWER, workflows::plan, doc::workflows::plan()),
        ),
        (
            "/v1/workflows/{id}/approve",
            post(APPROVER, workflows::approve, doc::workflows::approve()),
        ),
        (
            "/v1/workflows/{id}/reject",
            post(APPROVER, workflows::reject, doc::workflows::reject()),
        ),
        (
            "/v1/workflows/{id}/revoke",
            post(APPROVER, workflows::revoke, doc::workflows::revoke()),
        ),
        (
            "/v1/workflows/{id}/cancel",
            post(OPERATOR_OR_PROPOSER, workflows::cancel, doc::workflows::cancel()).about(Target::Handler),
        ),
        (
            "/v1/workflows/{id}/resume",
            post(OPERATOR, workflows::resume, doc::workflows::resume()),
        ),
        (
            "/v1/approvals",
            get(VIEWER, workflows::waiting, doc::workflows::waiting()),
        ),
    ]
}

fn about_workers() -> Vec<Route> {
    vec![
        ("/v1/workers", get(VIEWER, workers::list, doc::workers::list())),
        (
            "/v1/workers/deltas",
            get(VIEWER, workers::deltas, doc::workers::deltas()),
        ),
        (
            "/v1/workers/reload",
            post(OPERATOR, workers::reload, doc::workers::reload()),
        ),
        (
            "/v1/workers/{path}/explain",
            get(VIEWER, workers::explain, doc::workers::explain()),
        ),
        (
            "/v1/workers/{path}/logs",
            get(VIEWER, workers::logs, doc::workers::logs()),
        ),
        (
            "/v1/workers/{path}/start",
            post(OPERATOR, workers::start, doc::workers::start()),
        ),
        (
            "/v1/workers/{path}/stop",
            post(OPERATOR, workers::stop, doc::workers::stop()),
        ),
        (
            "/v1/workers/{path}/restart",
            post(OPERATOR, workers::restart, doc::workers::restart()),
        ),
        (
            "/v1/workers/{path}/cancel",
            post(OPERATOR, workers::cancel, doc::workers::cancel()),
        ),
    ]
}

fn about_tokens() -> Vec<Route> {
    vec![
        (
            "/v1/tokens",
            get(ADMIN, tokens::list, doc::tokens::list()).post(ADMIN, tokens::create, doc::tokens::create()),
        ),
        (
            "/v1/tokens/{id}/revoke",
            post(ADMIN, tokens::revoke, doc::tokens::revoke()),
        ),
        ("/v1/me", get(EVERYBODY, tokens::me, doc::tokens::me())),
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

/// A browser that opens a path of no route gets the web interface, which knows its own pages.
async fn unknown(request: Request) -> Response {
    if ui::is_page(&request) {
        return ui::index().await;
    }
    let problem = Problem::new(
        Code::RouteUnknown,
        format!(
            "there is no route `{}`; `/v1/openapi.json` lists all routes",
            shown(request.uri().path())
        ),
    );
    problem.into_response()
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!(
        "`{}` does not take {}; `Allow` lists what it takes",
        shown(uri.path()),
        shown(method.as_str())
    );
    Problem::new(Code::MethodNotAllowed, detail)
}
