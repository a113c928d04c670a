//! Dead letters: actions that wait for a person.

use axum::extract::State;
use serde_json::Value;
use sprag_core::action::Status;
use sprag_core::ids::ActionId;
use sprag_engine::command::RetryDead;
use sprag_store::traits::ActionQuery;

use crate::app::App;
use crate::body::{Body, Empty, Fields, FromFields, NoFields};
use crate::once::{Once, answered};
use crate::path::Id;
use crate::problem::{Code, Problem};
use crate::query::{FromParams, Nothing, Page, Params, Query};
use crate::reply::{Answer, ok};

pub(crate) struct ListParams {
    kind: Option<String>,
    machine: Option<String>,
    error: Option<String>,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["type", "machine", "error", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            kind: params.text("type"),
            machine: params.text("machine"),
            error: params.text("error"),
            page: params.page("dead-letters"),
        }
    }
}

/// `GET /v1/dead-letters`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams {
        kind,
        machine,
        error,
        page,
    } = params;
    let query = ActionQuery {
        kind,
        machine,
        error_kind: error,
        status: Some(Status::Dead.number()),
        before: page.after()?,
        limit: page.wanted(),
        ..ActionQuery::default()
    };
    let views = app.engine.actions(query).await?;
    Ok(ok(&page.list(views, |view| view.id.to_string())))
}

/// `GET /v1/dead-letters/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.action(id).await?;
    if view.status != Status::Dead {
        let detail = format!("action `{id}` is {}, not a dead letter", view.status.word());
        return Err(Problem::new(Code::DeadLetterUnknown, detail));
    }
    Ok(ok(&view))
}

/// With what a dead letter is tried again.
pub(crate) struct Retry {
    config: Option<Value>,
    version: Option<u32>,
}

impl FromFields for Retry {
    const KNOWN: &'static [&'static str] = &["config", "version"];
    const EMPTY: Empty = Empty::Object;

    fn read(fields: &mut Fields) -> Self {
        Self {
            config: fields.object("config").map(Value::Object),
            version: fields.version("version"),
        }
    }
}

/// `POST /v1/dead-letters/{id}/retry`: as it is, with another configuration, or on another version.
pub(crate) async fn retry(
    Id(id): Id<ActionId>,
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(Retry { config, version }): Body<Retry>,
) -> Answer {
    let retry = RetryDead {
        action: id,
        config,
        version,
    };
    Ok(answered(once.retry_dead(retry).await, |view| ok(&view)))
}

/// `POST /v1/dead-letters/{id}/archive`
pub(crate) async fn archive(
    Id(id): Id<ActionId>,
    Query(Nothing): Query<Nothing>,
    Once(once): Once,
    Body(NoFields): Body<NoFields>,
) -> Answer {
    Ok(answered(once.archive(id).await, |view| ok(&view)))
}
