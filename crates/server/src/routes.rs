//! The one route table, from what each file of handlers declares, and the router made of it.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::handlers::workers::handlers as workers;
use crate::handlers::{
    actions, agents, audit, backup, compare, dead_letters, executions, hooks, jobs, limits, loads, lookup, machines,
    messages, metrics, operations, overview, pages, runners, series, simulate, streams, switches, system, tokens, ui,
    workflows,
};
use crate::listen::observe::observe;
use crate::openapi::Route;
use crate::problem::shown::shown;
use crate::problem::{Code, Problem};

/// Every route with its handlers and what they are: what each file of handlers declares. The router, the OpenAPI document
/// and the page are made of it.
pub(crate) fn table() -> Vec<Route> {
    [
        ui::routes(),
        pages::routes(),
        system::routes(),
        metrics::routes(),
        streams::routes(),
        backup::routes(),
        audit::routes(),
        machines::routes(),
        simulate::routes(),
        compare::routes(),
        hooks::routes(),
        messages::routes(),
        executions::routes(),
        workflows::routes(),
        actions::routes(),
        dead_letters::routes(),
        runners::routes(),
        switches::routes(),
        limits::routes(),
        jobs::routes(),
        operations::routes(),
        loads::routes(),
        agents::routes(),
        workers::routes(),
        tokens::routes(),
        lookup::routes(),
        overview::routes(),
        series::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The paths of all routes.
#[cfg(test)]
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    table().into_iter().map(|route| route.path)
}

/// The whole API.
pub(crate) fn router(app: App) -> Router {
    let routes = table()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.router));
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
