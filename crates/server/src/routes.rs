//! The one route table.

use axum::http::{Method, Uri};
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};

use crate::app::App;
use crate::guard::guard;
use crate::handlers::{
    actions, compare, dead_letters, executions, machines, messages, metrics, simulate, streams, system,
};
use crate::observe::observe;
use crate::problem::{Code, Problem};
use crate::shown::shown;

/// Every route with its handlers.
fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/healthz", get(system::healthy)),
        ("/readyz", get(system::ready)),
        ("/metrics", get(metrics::show)),
        ("/errors/{code}", get(system::error_page)),
        ("/v1/system", get(system::show)),
        ("/v1/schemas/machine", get(system::machine_schema)),
        ("/v1/machines", get(machines::list).post(machines::apply)),
        ("/v1/machines/lint", post(machines::lint)),
        ("/v1/machines/simulate", post(simulate::simulate)),
        ("/v1/machines/diff", post(compare::diff)),
        ("/v1/machines/{id}", get(machines::show)),
        ("/v1/machines/{id}/diagram", get(compare::diagram)),
        ("/v1/machines/{id}/versions/{version}", get(machines::show_version)),
        ("/v1/stream", get(streams::hints)),
        ("/v1/messages", post(messages::send_by_key)),
        ("/v1/executions", get(executions::list).post(executions::start)),
        ("/v1/executions/{id}", get(executions::show)),
        ("/v1/executions/{id}/messages", post(messages::send)),
        ("/v1/executions/{id}/history", get(executions::history)),
        ("/v1/executions/{id}/stream", get(streams::follow)),
        ("/v1/executions/{id}/explain", get(executions::explain)),
        ("/v1/executions/{id}/replay", post(executions::replay)),
        ("/v1/executions/{id}/cancel", post(executions::cancel)),
        ("/v1/executions/{id}/pause", post(executions::pause)),
        ("/v1/executions/{id}/resume", post(executions::resume)),
        ("/v1/executions/{id}/migrate", post(executions::migrate)),
        ("/v1/actions", get(actions::list)),
        ("/v1/actions/queue", get(actions::queue)),
        ("/v1/actions/{id}", get(actions::show)),
        ("/v1/actions/{id}/retry-now", post(actions::retry_now)),
        ("/v1/actions/{id}/cancel", post(actions::cancel)),
        ("/v1/dead-letters", get(dead_letters::list)),
        ("/v1/dead-letters/{id}", get(dead_letters::show)),
        ("/v1/dead-letters/{id}/retry", post(dead_letters::retry)),
        ("/v1/dead-letters/{id}/archive", post(dead_letters::archive)),
    ]
}

/// The paths of all routes.
#[cfg(test)]
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    table().into_iter().map(|(path, _)| path)
}

/// The whole API.
pub(crate) fn router(app: App) -> Router {
    let routes = table()
        .into_iter()
        .fold(Router::new(), |router, (path, handlers)| router.route(path, handlers));
    around(routes, app)
}

/// Adds what holds for every request, known route or not.
pub(crate) fn around(routes: Router<App>, app: App) -> Router {
    routes
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .layer(middleware::from_fn_with_state(app.clone(), observe))
        .with_state(app)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::new(
        Code::RouteUnknown,
        format!("there is nothing at `{}`", shown(uri.path())),
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
