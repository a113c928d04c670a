//! What a caller's token is narrowed to, compared with what a request is about.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use axum::http::Method;
use axum::http::request::Parts;
use sprag_core::access::{Caller, ScopeKind, Scopes};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId};
use sprag_engine::requests::{self, LeasedType, Refusal};

use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::table;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Asker(pub(crate) Arc<Caller>);

impl FromRequestParts<App> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Arc<Caller>>();
        caller.cloned().map(Self).ok_or_else(|| {
            // Every request passes the gate, so this is a bug.
            Problem::new(Code::InternalError, "the request has no caller")
        })
    }
}

impl Asker {
    /// Refuses what is not within the caller's scope.
    pub(crate) fn covers(&self, kind: ScopeKind, name: &str) -> Result<(), Problem> {
        if self.0.scopes.covers(kind, name) {
            return Ok(());
        }
        Err(self.missing(kind, &format!("does not list `{name}`")))
    }

    /// Refuses an attempt at an action whose type is not within the caller's scope.
    pub(crate) async fn covers_attempt(&self, app: &App, id: AttemptId) -> Result<(), Problem> {
        if self.0.scopes.types.is_none() {
            return Ok(());
        }
        match app.engine.ask(LeasedType(id)).await? {
            Some(kind) => self.covers(ScopeKind::Type, &kind),
            // It is over: the handler says so.
            None => Ok(()),
        }
    }

    async fn covers_execution(&self, app: &App, id: ExecutionId) -> Result<(), Problem> {
        if self.0.scopes.machines.is_none() {
            return Ok(());
        }
        let execution = app.engine.read().execution(id).await?;
        self.covers(ScopeKind::Machine, &execution.machine)
    }

    async fn covers_action(&self, app: &App, id: ActionId) -> Result<(), Problem> {
        if self.0.scopes.machines.is_none() {
            return Ok(());
        }
        let action = app.engine.read().action(id).await?;
        self.covers_execution(app, action.execution_id).await
    }

    fn missing(&self, kind: ScopeKind, why: &str) -> Problem {
        let detail = format!(
            "the scope `{}` of the token of `{}` {why}; use a token that covers it",
            kind.member(),
            self.0.principal
        );
        Refusal::new(requests::Code::ScopeMissing, detail).into()
    }
}

/// What a request that does something is about: a column of the route table. A narrowed token cannot be used where a route
/// does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The execution whose id the path has.
    Execution,
    /// The action whose id the path has.
    Action,
    /// What the body says: the handler checks.
    Handler,
}

/// The paths of the table that have such a column.
static TARGETS: LazyLock<HashMap<&str, Target>> = LazyLock::new(|| {
    let routes = table().into_iter();
    routes.filter_map(|route| Some((route.path, route.target?))).collect()
});

/// Refuses a request that does something beyond the scope of its caller.
pub(crate) async fn check(app: &App, parts: &mut Parts, caller: &Arc<Caller>) -> Result<(), Problem> {
    if caller.scopes == Scopes::default() || matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let asker = Asker(Arc::clone(caller));
    let matched = parts.extensions.get::<MatchedPath>();
    match matched.and_then(|path| TARGETS.get(path.as_str())) {
        Some(Target::Handler) => Ok(()),
        Some(Target::Execution) => match id(parts).await {
            Some(id) => asker.covers_execution(app, id).await,
            None => Ok(()),
        },
        Some(Target::Action) => match id(parts).await {
            Some(id) => asker.covers_action(app, id).await,
            None => Ok(()),
        },
        None => {
            let detail = format!(
                "the token of `{}` is narrowed to a scope, and this request is about more; use a token without scopes",
                caller.principal
            );
            Err(Refusal::new(requests::Code::ScopeMissing, detail).into())
        }
    }
}

/// The id in the path. One that cannot be read names nothing, as the handler says.
async fn id<T: FromStr>(parts: &mut Parts) -> Option<T> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, text) = params.iter().find(|(name, _)| *name == "id")?;
    text.parse().ok()
}
