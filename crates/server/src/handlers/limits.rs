//! Limits: what definitions say under a key, and an operator's override of it.

use axum::extract::State;
use sprag_core::action::Rate;
use sprag_engine::limits::Numbers;
use sprag_engine::requests;
use sprag_wire as wire;

use crate::access::caller::Who;
use crate::access::rule::{OPERATOR, VIEWER};
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, at, text};
use crate::request::body::{Body, Empty, Fields, FromFields};
use crate::request::etag::{IfMatch, tagged};
use crate::request::path::Path;
use crate::request::query::{FromParams, Nothing, Page, Params, Query};

/// The group.
pub(crate) const RESOURCE: &str = "limits";

/// An operation on one key.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("key", text(), "The key.")
        .reads()
        .answers::<wire::Limit>(200, "The limit of the key.")
        .tagged()
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/limits").get(VIEWER, list).is(Operation::new(
            RESOURCE,
            "listLimits",
            "List limits with running and waiting actions",
        )
        .continued()
        .answers::<wire::Page<wire::Limit>>(200, "The keys.")
        .reads()),
        at("/v1/limits/{key}")
            .get(VIEWER, show)
            .is(one("showLimit", "Show a key, even an unused one"))
            .put(OPERATOR, set)
            .is(one("setLimit", "Override the limit of a key")
                .if_match()
                .if_none()
                .body::<Set>()
                .audited()
                .writes()
                .refuses([requests::Code::NameInvalid, requests::Code::LimitsFull]))
            .delete(OPERATOR, clear)
            .is(one("clearLimit", "Clear the override of a key")
                .audited()
                .if_match()
                .writes()
                .refuses([requests::Code::LimitUnknown, requests::Code::NameInvalid])),
    ]
}

/// The numbers of an override.
pub(crate) struct Set(wire::LimitNumbers);

impl FromFields for Set {
    type Shape = wire::LimitRequest;

    fn empty() -> Empty {
        Empty::Refused
    }

    fn read(fields: &mut Fields) -> Option<Self> {
        if !fields.has("concurrency") && !fields.has("rate") {
            fields.refuse(
                "",
                "give `concurrency`, `rate` or both; for a value that you omit, the definitions apply",
            );
        }
        Some(Self(Numbers {
            concurrency: fields.whole("concurrency", 0, u32::MAX),
            rate: fields.within("rate").map(|RateFields(rate)| rate),
        }))
    }
}

/// So many in so much time, if both are given.
pub(crate) struct RateFields(pub(crate) Rate);

impl FromFields for RateFields {
    type Shape = wire::RateRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let count = fields.required("count").whole("count", 1, u32::MAX);
        let per_millis = fields.required("per").millis("per", 1);
        Some(Self(Rate {
            count: count?,
            per_millis: per_millis?,
        }))
    }
}

/// Where the list continues.
pub(crate) struct ListParams(Page);

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("limits"))
    }
}

/// `GET /v1/limits`: every key that is known, with what counts, runs and waits.
pub(crate) async fn list(State(app): State<App>, Query(ListParams(page)): Query<ListParams>) -> Answer {
    Ok(ok(&page.part(app.engine.operate().limit_keys().await?)?))
}

/// `GET /v1/limits/{key}`
pub(crate) async fn show(State(app): State<App>, Path(key): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.operate().limit_key(&key).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `PUT /v1/limits/{key}`: from the next attempt on.
pub(crate) async fn set(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
    Body(Set(numbers)): Body<Set>,
) -> Answer {
    let view = app.engine.operate().set_limit(key, numbers, matches, &asker).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `DELETE /v1/limits/{key}`: the definitions count again.
pub(crate) async fn clear(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
) -> Answer {
    let view = app.engine.operate().clear_limit(key, matches, &asker).await?;
    Ok(tagged(view.revision(), ok(&view)))
}
