//! The API of supervision: who is there, why each is where it is, and a person's word to them.
//!
//! It stands on its own, without an engine: `sprag supervise` serves nothing else, and a server has the same handlers in
//! its route table. Handlers are thin: extract, ask the supervisor, map.

pub(crate) mod handlers;
mod once;
#[cfg(test)]
mod tests;
pub(crate) mod views;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::extract::{FromRef, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, http};
use futures_util::future::BoxFuture;
use sprag_core::clock::Clock;
use sprag_core::document::{Finding, Severity};
use sprag_core::integrity::audit::Verb;
use sprag_engine::requests::Record;
use sprag_engine::{Asker, Handle as Engine};
use sprag_supervisor::process::Services;
use sprag_supervisor::store::Store;
use sprag_supervisor::{Handle, OperateError};
pub use sprag_wire::{NotStartable, Reloaded};

use crate::access::guard::{self, Hosts};
use crate::app::App;
use crate::handlers::{pages, system};
use crate::problem::shown::shown;
use crate::problem::{Code, FieldError, Problem};

/// A supervisor of services, as its API sees it.
#[derive(Clone)]
pub struct Workers {
    /// Speaks to the tree.
    pub handle: Handle,
    /// The processes underneath.
    pub services: Services,
    /// What is remembered, with its deltas.
    pub store: Arc<Store>,
    /// Reads the file of services again.
    pub reload: Arc<dyn Reload>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// Reads a file of services again, and has the tree follow it.
pub trait Reload: Send + Sync {
    /// What is different from before; where the file is not valid, nothing is.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NotReloaded>>;
}

/// Why nothing was reloaded.
#[derive(Clone, Debug)]
pub struct NotReloaded {
    /// In a sentence fragment.
    pub detail: String,
    /// What is wrong with the file.
    pub findings: Vec<Finding>,
}

/// Whom a server supervises, once that is known.
pub(crate) type Cell = Arc<OnceLock<Workers>>;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) workers: Cell,
    /// The engine, which keeps the audit. A supervisor alone has none.
    pub(crate) engine: Option<Engine>,
}

impl FromRef<App> for Shared {
    fn from_ref(app: &App) -> Self {
        Self {
            workers: Arc::clone(&app.workers),
            engine: Some(app.engine.clone()),
        }
    }
}

impl Shared {
    /// Adds an entry to the audit: before anything is done, or with the code of a refusal.
    async fn record(&self, verb: Verb, path: &str, refused: Option<&Problem>, asker: &Asker) -> Result<(), Problem> {
        let Some(engine) = &self.engine else { return Ok(()) };
        let record = Record {
            verb,
            target: path.to_owned(),
            refused: refused.map(|problem| Cow::Borrowed(problem.code())),
            before: None,
            after: None,
        };
        let recorded = engine.operate().record(record, asker).await;
        // The supervisor is this node's own: no other node can do what was asked.
        recorded.map_err(|refusal| Problem::from(refusal).here())
    }

    /// Passes a refusal on, once the audit has it.
    async fn refuse(&self, verb: Verb, path: &str, problem: Problem, asker: &Asker) -> Problem {
        match self.record(verb, path, Some(&problem), asker).await {
            Ok(()) => problem,
            Err(unrecorded) => unrecorded,
        }
    }

    /// The file of a worker's log. An unknown worker has none.
    pub(crate) async fn log(&self, path: &str) -> Result<PathBuf, Problem> {
        let workers = self.workers()?;
        workers.handle.explain(path).await?;
        Ok(workers.services.log(path))
    }

    /// The supervisor, if there is one.
    fn workers(&self) -> Result<&Workers, Problem> {
        self.workers.get().ok_or_else(|| {
            let detail = "this server supervises no services; start it with `--services FILE`";
            Problem::new(Code::SupervisionOff, detail)
        })
    }
}

/// A server of its own: the routes of supervision, and what every server has.
pub(crate) fn alone(shared: Shared) -> Router {
    let routes = Router::new()
        .route("/v1/workers", get(handlers::list))
        .route("/v1/workers/deltas", get(handlers::deltas))
        .route("/v1/workers/reload", post(handlers::reload))
        .route("/v1/workers/{path}/explain", get(handlers::explain))
        .route("/v1/workers/{path}/logs", get(handlers::logs))
        .route("/v1/workers/{path}/start", post(handlers::start))
        .route("/v1/workers/{path}/stop", post(handlers::stop))
        .route("/v1/workers/{path}/restart", post(handlers::restart))
        .route("/v1/workers/{path}/cancel", post(handlers::cancel))
        .route("/healthz", get(system::healthy))
        .route("/readyz", get(handlers::ready))
        .route("/metrics", get(handlers::metrics))
        .route("/errors/{code}", get(handlers::error_page))
        .route("/style.css", get(pages::style))
        .fallback(unknown);
    routes.layer(middleware::from_fn(check)).with_state(shared)
}

/// Refuses what must not come through, and hardens every answer.
async fn check(request: Request, next: Next) -> Response {
    let mut response = match guard::check_own(&Hosts::default(), &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A client that asks for something else most likely asks the wrong server.
async fn unknown(uri: http::Uri) -> Problem {
    Problem::new(
        Code::RouteUnknown,
        format!(
            "there is nothing at `{}`: this server only supervises services (`sprag service`); for machines, \
             executions and actions, ask a server that `sprag up` started",
            shown(uri.path())
        ),
    )
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        let code = match error {
            OperateError::Unknown { .. } => Code::WorkerUnknown,
            OperateError::Leaving { .. } => Code::WorkerLeaving,
            OperateError::Refused { .. } => Code::OperationRefused,
            OperateError::Gone => Code::SupervisorStopped,
        };
        Self::new(code, error.to_string())
    }
}

impl From<NotReloaded> for Problem {
    fn from(not: NotReloaded) -> Self {
        let NotReloaded { detail, findings } = not;
        let errors = findings
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| FieldError {
                pointer: finding.pointer,
                detail: format!(
                    "line {}, column {}: {}; {}",
                    finding.line, finding.column, finding.detail, finding.remedy
                ),
            });
        Self::new(Code::ServicesInvalid, detail).with_errors(errors.collect())
    }
}
