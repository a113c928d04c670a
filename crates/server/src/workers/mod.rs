//! The API of supervision: who is there, why each is where it is, and a person's word to them.
//!
//! It stands on its own, without an engine: `sprag supervise` serves nothing else, and a server that supervises services
//! serves it beside its other routes. Handlers are thin: extract, ask the supervisor, map.

mod handlers;
#[cfg(test)]
mod tests;
mod views;

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, http};
use sprag_supervisor::process::Services;
use sprag_supervisor::store::Store;
use sprag_supervisor::{Handle, OperateError};

use crate::guard::{self, Hosts};
use crate::handlers::{pages, system};
use crate::problem::{Code, Problem};
use crate::shown::shown;

/// A supervisor of services, as its API sees it.
#[derive(Clone)]
pub struct Workers {
    /// Speaks to the tree.
    pub handle: Handle,
    /// The processes underneath.
    pub services: Services,
    /// What is remembered, with its deltas.
    pub store: Arc<Store>,
}

/// Whom a server supervises, once that is known.
pub(crate) type Cell = Arc<OnceLock<Workers>>;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) workers: Cell,
    pub(crate) hosts: Arc<Hosts>,
}

impl Shared {
    /// The supervisor, if there is one.
    fn workers(&self) -> Result<&Workers, Problem> {
        self.workers.get().ok_or_else(|| {
            let detail = "this server supervises nothing; start it with `--services FILE`";
            Problem::new(Code::SupervisionOff, detail)
        })
    }
}

/// The routes of supervision.
pub(crate) fn router(shared: Shared) -> Router {
    let routes = Router::new()
        .route("/v1/workers", get(handlers::list))
        .route("/v1/workers/deltas", get(handlers::deltas))
        .route("/v1/workers/{path}/explain", get(handlers::explain))
        .route("/v1/workers/{path}/logs", get(handlers::logs))
        .route("/v1/workers/{path}/start", post(handlers::start))
        .route("/v1/workers/{path}/stop", post(handlers::stop))
        .route("/v1/workers/{path}/restart", post(handlers::restart));
    around(routes, shared)
}

/// A server of its own: the same routes, and what every server has.
pub(crate) fn alone(shared: Shared) -> Router {
    let beside = Router::new()
        .route("/healthz", get(system::healthy))
        .route("/readyz", get(handlers::ready))
        .route("/metrics", get(handlers::metrics))
        .route("/errors/{code}", get(handlers::error_page))
        .route("/style.css", get(pages::style))
        .fallback(unknown);
    router(shared.clone()).merge(around(beside, shared))
}

fn around(routes: Router<Shared>, shared: Shared) -> Router {
    routes
        .layer(middleware::from_fn_with_state(shared.clone(), check))
        .with_state(shared)
}

/// Refuses what must not come through, and hardens every answer.
async fn check(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = match guard::check_own(&shared.hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn unknown(uri: http::Uri) -> Problem {
    Problem::new(
        Code::RouteUnknown,
        format!("there is nothing at `{}`", shown(uri.path())),
    )
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        let code = match error {
            OperateError::Unknown { .. } => Code::WorkerUnknown,
            OperateError::Leaving { .. } => Code::WorkerLeaving,
            OperateError::Gone => Code::SupervisorStopped,
        };
        Self::new(code, error.to_string())
    }
}
