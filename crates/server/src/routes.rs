//! The one route table.

use axum::http::{Method, Uri};
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};

use crate::app::App;
use crate::guard::guard;
use crate::handlers::{
    actions, backup, compare, dead_letters, executions, hooks, jobs, limits, machines, messages, metrics, simulate,
    streams, switches, system,
};
use crate::observe::observe;
use crate::problem::{Code, Problem};
use crate::shown::shown;

/// The route of inbound webhooks, which are not asked for their origin.
pub(crate) const HOOKS: &str = "/v1/hooks/{machine}/{name}";

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
        ("/v1/machines/lint", post(machines::lint).get(machines::show_verb)),
        (
            "/v1/machines/simulate",
            post(simulate::simulate).get(machines::show_verb),
        ),
        ("/v1/machines/diff", post(compare::diff).get(machines::show_verb)),
        ("/v1/machines/{id}", get(machines::show)),
        ("/v1/machines/{id}/diagram", get(compare::diagram)),
        ("/v1/machines/{id}/versions/{version}", get(machines::show_version)),
        (HOOKS, post(hooks::receive)),
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
        ("/v1/dead-letters/retry", post(dead_letters::retry_all)),
        ("/v1/dead-letters/{id}", get(dead_letters::show)),
        ("/v1/dead-letters/{id}/retry", post(dead_letters::retry)),
        ("/v1/dead-letters/{id}/archive", post(dead_letters::archive)),
        ("/v1/kill-switches", get(switches::list).post(switches::on)),
        ("/v1/kill-switches/{id}", get(switches::show)),
        ("/v1/kill-switches/{id}/release", post(switches::release)),
        ("/v1/limits", get(limits::list)),
        (
            "/v1/limits/{key}",
            get(limits::show).put(limits::set).delete(limits::clear),
        ),
        ("/v1/system/backup", post(backup::take)),
        ("/v1/system/restored", get(backup::restored)),
        ("/v1/jobs", get(jobs::list)),
        ("/v1/jobs/{id}", get(jobs::show)),
        ("/v1/jobs/{id}/items", get(jobs::items)),
        ("/v1/jobs/{id}/pause", post(jobs::pause)),
        ("/v1/jobs/{id}/resume", post(jobs::resume)),
        ("/v1/jobs/{id}/cancel", post(jobs::cancel)),
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
