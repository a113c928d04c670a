//! Dead letters: actions that wait for a person.

use axum::extract::State;
use serde_json::Value;
use sprag_core::action::Status;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::ActionId;
use sprag_engine::command::RetryDead;
use sprag_engine::jobs::RetryAll;

use crate::app::App;
use crate::body::{Body, Empty, Fields, FromFields, NoFields};
use crate::once::{Once, answered};
use crate::path::Id;
use crate::problem::{Code, Problem};
use crate::query::{FromParams, Nothing, Page, Params, Query};
use crate::reply::{Answer, accepted, ok};

pub(crate) struct ListParams {
    condition: Condition,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["type", "machine", "error", "filter", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let given = [
            Some(Condition::number(Field::Status, Status::Dead.number())),
            params.text("type").map(|kind| Condition::text(Field::Type, kind)),
            params
                .text("machine")
                .map(|machine| Condition::text(Field::Machine, machine)),
            params
                .text("error")
                .map(|error| Condition::text(Field::ErrorType, error)),
        ];
        let filter = params.filter(Resource::DeadLetters);
        Self {
            condition: given.into_iter().flatten().fold(filter, Condition::and),
            page: params.page("dead-letters"),
        }
    }
}

/// `GET /v1/dead-letters`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, page } = params;
    let found = app.engine.find_actions(condition, page.after()?, page.limit()).await?;
    Ok(ok(&page.found(found)))
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

impl FromFields for RetryAll {
    const KNOWN: &'static [&'static str] = &["filter", "config", "version", "reason"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        Self {
            filter: fields.required_text("filter"),
            config: fields.object("config").map(Value::Object),
            version: fields.version("version"),
            reason: fields.text("reason"),
        }
    }
}

/// `POST /v1/dead-letters/retry`: makes a job that tries all again that meet a filter.
pub(crate) async fn retry_all(Query(Nothing): Query<Nothing>, Once(once): Once, Body(retry): Body<RetryAll>) -> Answer {
    Ok(answered(once.retry_all(retry).await, |view| {
        accepted(format!("/v1/jobs/{}", view.id), &view)
    }))
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
